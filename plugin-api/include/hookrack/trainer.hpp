// What a hook sees of the run: the trainer. Part of hookrack.hpp.

#ifndef HOOKRACK_TRAINER_HPP
#define HOOKRACK_TRAINER_HPP

#include "tensor.hpp"

#include <optional>

// Hidden visibility: two libraries in one process may have classes of the same name.
namespace hookrack __attribute__((visibility("hidden"))) {

// The phases of `Trainer::phase`.
enum class Phase : std::uint32_t { train = 0, val = 1, test = 2, pred = 3 };

// The trainer that a hook receives at every point. Calls that the host refuses throw an Error with the host's message.
class Trainer {
 public:
  explicit Trainer(const TrainerHandle *raw) : raw_(raw) {}
  // The handle with all tables of the ABI.
  const TrainerHandle &raw() const { return *raw_; }
  // Throws the host's error message if a call to it failed.
  void check(HrStatus status) const { hookrack::check(*raw_, status); }
  // The table of an extension: `t.extension<MediaTable>(HR_MEDIA).put_text(t.raw().host, …)`. Throws on an older host.
  template <class Table>
  const Table &extension(const char *id) const {
    const void *found = raw_->extension(raw_->host, hr_str(id));
    if (found == nullptr) throw Error("this host does not have " + std::string(id));
    return *static_cast<const Table *>(found);
  }

  // The progress of the run; epochs and iterations count from 1.
  const HrProgress &progress() const { return *raw_->progress; }
  Phase phase() const { return static_cast<Phase>(progress().phase); }
  std::uint64_t epoch() const { return progress().epoch; }
  std::uint64_t iter() const { return progress().iter; }
  std::uint64_t inner_iter() const { return progress().inner_iter; }
  std::uint64_t max_epochs() const { return progress().max_epochs; }
  std::uint64_t max_iters() const { return progress().max_iters; }
  std::uint64_t batch_size() const { return progress().batch_size; }
  std::uint32_t rank() const { return progress().rank; }
  std::uint32_t world_size() const { return progress().world; }
  bool is_main() const { return rank() == 0; }
  double lr() const { return progress().lr; }
  std::string instance() const { return copy(raw_->instance); }

  // Tensors of the current batch; throws if there is no such tensor at this point.
  Tensor input() const { return slot(HR_SLOT_INPUT); }
  Tensor label() const { return slot(HR_SLOT_LABEL); }
  Tensor output() const { return slot(HR_SLOT_OUTPUT); }
  Tensor loss() const { return slot(HR_SLOT_LOSS); }
  Tensor grad_norm() const { return slot(HR_SLOT_GRAD_NORM); }
  // Input and label can be replaced at `before_train_iter`, output and loss in a role.
  void set_input(const Tensor &tensor) { set_slot(HR_SLOT_INPUT, tensor); }
  void set_label(const Tensor &tensor) { set_slot(HR_SLOT_LABEL, tensor); }
  void set_output(const Tensor &tensor) { set_slot(HR_SLOT_OUTPUT, tensor); }
  void set_loss(const Tensor &tensor) { set_slot(HR_SLOT_LOSS, tensor); }

  // The model's tensors. A gradient has the index of its parameter, and is absent if the parameter has none.
  Tensors params() const { return list(HR_LIST_PARAMS); }
  Tensors grads() const { return list(HR_LIST_GRADS); }
  Tensors buffers() const { return list(HR_LIST_BUFFERS); }
  std::vector<std::string> param_names() const { return names(HR_LIST_PARAMS); }
  std::vector<std::string> buffer_names() const { return names(HR_LIST_BUFFERS); }
  // A new tensor on the CPU with these elements, such as `t.tensor<float>({1, 2}, {2})`.
  template <class T>
  Tensor tensor(const std::vector<T> &elements, const std::vector<std::int64_t> &shape) const {
    std::uint64_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::uint64_t>(size);
    if (count != elements.size()) throw Error("the shape does not have " + std::to_string(elements.size()) + " elements");
    const std::uint8_t code = std::is_floating_point_v<T> ? 2 : std::is_signed_v<T> ? 0 : 1;
    HrDLTensor lent{};
    lent.data = const_cast<T *>(elements.data());
    lent.device = {1, 0};
    lent.ndim = static_cast<std::int32_t>(shape.size());
    lent.dtype = {code, static_cast<std::uint8_t>(8 * sizeof(T)), 1};
    lent.shape = shape.data();
    HrTensor made = HR_TENSOR_NONE;
    check(raw_->tensors->from_view(raw_->host, &lent, &made));
    return Tensor::owned(*raw_, made);
  }

  // Logs a value for the current iteration; `@name` is `hook/<instance>/name`.
  void put_scalar(std::string_view name, double value) {
    std::uint32_t key = 0;
    check(raw_->events->key(raw_->host, lend(name), 1, &key));
    check(raw_->events->put(raw_->host, key, value));
  }
  // A metric's value over the last pass of a phase; none before it was computed.
  std::optional<double> metric(Phase phase, std::string_view name) const {
    double value = 0.0;
    const auto code = static_cast<std::uint32_t>(phase);
    const HrStatus status = raw_->events->metric(raw_->host, code, lend(name), HR_METRIC_LATEST_EPOCH, &value);
    if (status == HR_ABSENT) return std::nullopt;
    check(status);
    return value;
  }

  // For roles: the steps of the built-in main hook.
  void forward() { check(raw_->engine->forward(raw_->host)); }
  void criterion() { check(raw_->engine->criterion(raw_->host)); }
  void backward() { check(raw_->engine->backward(raw_->host)); }
  void optimizer_step() { check(raw_->engine->optimizer_step(raw_->host)); }
  void lr_step() { check(raw_->engine->lr_step(raw_->host)); }
  // The output of the model for any input, and the configured loss of any output and label. Neither sets anything.
  Tensor model(const Tensor &input) {
    return made([&](HrTensor *out) { return raw_->engine->model(raw_->host, input.handle(), out); });
  }
  Tensor criterion_of(const Tensor &output, const Tensor &label) {
    const auto &roles = extension<RoleTable>(HR_ROLES);
    return made([&](HrTensor *out) { return roles.criterion_of(raw_->host, output.handle(), label.handle(), out); });
  }
  // A second forward pass through the hook in the forward role, at `on_optimizer_step`.
  void train_forward() { check(extension<RoleTable>(HR_ROLES).train_forward(raw_->host)); }
  // Sets the learning rate of every group; the schedule sets it again at its next step.
  void set_lr(double lr) {
    const std::size_t groups = raw_->engine->group_count(raw_->host);
    for (std::size_t group = 0; group < groups; group++) check(raw_->engine->set_lr(raw_->host, group, lr));
  }
  // Turns gradient recording off or on for `body`; the previous mode is restored afterwards.
  template <class Body>
  auto no_grad(Body body) {
    const Recording off(*this, false);
    return body();
  }
  template <class Body>
  auto enable_grad(Body body) {
    const Recording on(*this, true);
    return body();
  }

  // Over the ranks of a run: replaces the numbers by their sums, `HR_REDUCE_MAX` or `HR_REDUCE_MIN`, and a tensor by that of
  // rank `root`. Every rank must make the same calls.
  void all_reduce(std::vector<double> &numbers, std::uint32_t reduction = HR_REDUCE_SUM) {
    const auto &ranks = extension<RankTable>(HR_RANKS);
    check(ranks.all_reduce_numbers(raw_->host, numbers.data(), numbers.size(), reduction));
  }
  void broadcast(const Tensor &tensor, std::uint32_t root = 0) {
    check(extension<RankTable>(HR_RANKS).broadcast(raw_->host, tensor.handle(), root));
  }

  // The run directory, empty if there is none, and a file in it, written atomically.
  std::string run_dir() const { return copy(extension<ArtifactTable>(HR_ARTIFACTS).run_dir(raw_->host)); }
  void write_file(std::string_view file, std::string_view contents) {
    const HrStr bytes = lend(contents);
    check(extension<FileTable>(HR_FILES).write(raw_->host, lend(file), bytes.ptr, bytes.len));
  }

  // Requests that the run ends at the next boundary, and a validation or a checkpoint after this iteration.
  void request_stop(std::string_view why) { check(raw_->request(raw_->host, HR_REQUEST_STOP, lend(why))); }
  void request_validation() { check(raw_->request(raw_->host, HR_REQUEST_VALIDATE, lend(""))); }
  void request_checkpoint() { check(raw_->request(raw_->host, HR_REQUEST_SAVE, lend(""))); }

  // Messages in the host's log.
  void error(std::string_view line) const { log(HR_LOG_ERROR, line); }
  void warn(std::string_view line) const { log(HR_LOG_WARN, line); }
  void info(std::string_view line) const { log(HR_LOG_INFO, line); }
  void debug(std::string_view line) const { log(HR_LOG_DEBUG, line); }

 private:
  // Restores the mode at the end of its scope, also after an exception.
  class Recording {
   public:
    Recording(const Trainer &t, bool on) : host_(t.raw_->host), table_(t.extension<AutogradTable>(HR_AUTOGRAD)) {
      t.check(table_.set_recording(host_, on, &was_));
    }
    Recording(const Recording &) = delete;
    Recording &operator=(const Recording &) = delete;
    ~Recording() {
      std::uint32_t ended = 0;
      table_.set_recording(host_, was_, &ended);
    }

   private:
    void *host_;
    const AutogradTable &table_;
    std::uint32_t was_ = 0;
  };

  template <class Call>
  Tensor made(Call call) const {
    HrTensor handle = HR_TENSOR_NONE;
    check(call(&handle));
    return Tensor::owned(*raw_, handle);
  }
  Tensor slot(std::uint32_t slot) const {
    HrTensor handle = HR_TENSOR_NONE;
    check(raw_->tensors->slot(raw_->host, slot, &handle));
    return Tensor(*raw_, handle);
  }
  void set_slot(std::uint32_t slot, const Tensor &tensor) {
    check(raw_->tensors->set_slot(raw_->host, slot, tensor.handle()));
  }
  Tensors list(std::uint32_t which) const {
    HrTensors row{};
    check(raw_->tensors->list(raw_->host, which, &row));
    Tensors out;
    for (std::size_t i = 0; i < row.len; i++) out.emplace_back(*raw_, row.ptr[i]);
    return out;
  }
  std::vector<std::string> names(std::uint32_t which) const {
    std::vector<std::string> out;
    const std::size_t count = list(which).size();
    for (std::size_t i = 0; i < count; i++) {
      HrStr name{};
      check(raw_->tensors->name(raw_->host, which, i, &name));
      out.push_back(copy(name));
    }
    return out;
  }
  void log(std::uint32_t level, std::string_view line) const {
    if (level <= *raw_->log_level) {
      raw_->log(raw_->host, level, lend("plugin"), lend(line));
    }
  }

  const TrainerHandle *raw_;
};

}  // namespace hookrack

#endif // HOOKRACK_TRAINER_HPP
