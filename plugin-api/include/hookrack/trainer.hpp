// What a hook sees of the run: the trainer, its tensors, and errors. Part of hookrack.hpp.

#ifndef HOOKRACK_TRAINER_HPP
#define HOOKRACK_TRAINER_HPP

#include "../hookrack.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

// Hidden visibility: two libraries in one process may have classes of the same name.
namespace hookrack __attribute__((visibility("hidden"))) {

// The exception of hooks, and of failed calls to the host.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Borrows a string for a call to the host.
inline HrStr lend(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

// Copies a string of the host.
inline std::string copy(HrStr text) {
  return text.len == 0 ? std::string() : std::string(reinterpret_cast<const char *>(text.ptr), text.len);
}

// A tensor of the current iteration; `raw().tensors` does more with its handle.
class Tensor {
 public:
  Tensor(const TrainerHandle &trainer, HrTensor handle) : trainer_(&trainer), handle_(handle) {}
  HrTensor handle() const { return handle_; }

  // Its value, if it has one element. Waits for the device.
  double item() const {
    double number = 0.0;
    if (trainer_->tensors->item(trainer_->host, handle_, &number) != HR_OK) {
      throw Error(copy(trainer_->last_error(trainer_->host)));
    }
    return number;
  }

 private:
  const TrainerHandle *trainer_;
  HrTensor handle_;
};

// The trainer that a hook receives at every point.
class Trainer {
 public:
  explicit Trainer(const TrainerHandle *raw) : raw_(raw) {}
  // The handle with all tables of the ABI.
  const TrainerHandle &raw() const { return *raw_; }
  // Throws the host's error message if a call to it failed.
  void check(HrStatus status) const {
    if (status != HR_OK) {
      throw Error(copy(raw_->last_error(raw_->host)));
    }
  }

  // The progress of the run; epochs and iterations count from 1.
  const HrProgress &progress() const { return *raw_->progress; }
  std::uint64_t epoch() const { return progress().epoch; }
  std::uint64_t iter() const { return progress().iter; }
  std::uint64_t max_iters() const { return progress().max_iters; }
  std::uint64_t batch_size() const { return progress().batch_size; }
  std::string instance() const { return copy(raw_->instance); }

  // Tensors of the current batch; throws if there is no such tensor at this point.
  Tensor input() const { return slot(HR_SLOT_INPUT); }
  Tensor label() const { return slot(HR_SLOT_LABEL); }
  Tensor output() const { return slot(HR_SLOT_OUTPUT); }
  Tensor loss() const { return slot(HR_SLOT_LOSS); }
  Tensor grad_norm() const { return slot(HR_SLOT_GRAD_NORM); }

  // Logs a value for the current iteration; `@name` is `hook/<instance>/name`.
  void put_scalar(std::string_view name, double value) {
    std::uint32_t key = 0;
    check(raw_->events->key(raw_->host, lend(name), 1, &key));
    check(raw_->events->put(raw_->host, key, value));
  }

  // For roles: the steps of the built-in main hook.
  void forward() { check(raw_->engine->forward(raw_->host)); }
  void criterion() { check(raw_->engine->criterion(raw_->host)); }
  void backward() { check(raw_->engine->backward(raw_->host)); }
  void optimizer_step() { check(raw_->engine->optimizer_step(raw_->host)); }
  void lr_step() { check(raw_->engine->lr_step(raw_->host)); }

  // Requests that the run ends at the next boundary.
  void request_stop(std::string_view why) { check(raw_->request(raw_->host, HR_REQUEST_STOP, lend(why))); }

  // Messages in the host's log.
  void error(std::string_view line) const { log(HR_LOG_ERROR, line); }
  void warn(std::string_view line) const { log(HR_LOG_WARN, line); }
  void info(std::string_view line) const { log(HR_LOG_INFO, line); }
  void debug(std::string_view line) const { log(HR_LOG_DEBUG, line); }

 private:
  Tensor slot(std::uint32_t slot) const {
    HrTensor handle = HR_TENSOR_NONE;
    check(raw_->tensors->slot(raw_->host, slot, &handle));
    return Tensor(*raw_, handle);
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
