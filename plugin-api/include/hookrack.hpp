// hookrack.hpp: hooks and metrics in C++17 without tables or a manifest written by hand.
//
//   namespace {
//   struct Logger {
//     std::int64_t digits = 4;
//
//     static void describe(hookrack::About<Logger> &about) {
//       about.doc("Logs the loss.");
//       about.setting("digits", &Logger::digits, "Digits after the decimal point.").min(0).max(17);
//       about.at(HR_POINT_AFTER_TRAIN_ITER, &Logger::after_train_iter);
//     }
//
//     void after_train_iter(hookrack::Trainer &t) { t.info("loss " + std::to_string(t.loss().item())); }
//   };
//   }  // namespace
//   HOOKRACK_PLUGIN("logger", "0.1.0", hookrack::hook<Logger>("LoggerHook"))
//
// A setting's default is the value of the field in a new object. A hook may have `void save(StateWriter &) const` and
// `void load(const StateReader &)`; a metric has `update`, `compute`, `reset`, `save` and `merge`. An exception becomes
// the hook's error. Nothing here is part of the ABI.

#ifndef HOOKRACK_HPP
#define HOOKRACK_HPP

#include "hookrack.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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

// Conversions between C++ types and values of the ABI: booleans, integers, floats, strings, and lists of these.
template <class F, class = void>
struct Convert;

template <>
struct Convert<bool> {
  static std::string type() { return "\"bool\""; }
  static std::string json(bool value) { return value ? "true" : "false"; }
  static bool read(const HrValue &value) {
    if (value.kind != HR_VALUE_BOOL) throw Error("expected true or false");
    return value.int_ != 0;
  }
  static HrValue lent(bool value) {
    HrValue out{};
    out.kind = HR_VALUE_BOOL;
    out.int_ = value;
    return out;
  }
};

template <class F>
struct Convert<F, std::enable_if_t<std::is_integral_v<F> && !std::is_same_v<F, bool>>> {
  static std::string type() { return "\"int\""; }
  static std::string json(F value) { return std::to_string(value); }
  static F read(const HrValue &value) {
    if (value.kind != HR_VALUE_INT) throw Error("expected an integer");
    const F number = static_cast<F>(value.int_);
    const bool is_wrapped = (number < F{}) != (value.int_ < 0);
    if (static_cast<std::int64_t>(number) != value.int_ || is_wrapped) throw Error("out of range");
    return number;
  }
  static HrValue lent(F value) {
    HrValue out{};
    out.kind = HR_VALUE_INT;
    out.int_ = static_cast<std::int64_t>(value);
    return out;
  }
};

template <class F>
struct Convert<F, std::enable_if_t<std::is_floating_point_v<F>>> {
  static std::string type() { return "\"float\""; }
  static std::string json(double value) {
    char text[32];
    std::snprintf(text, sizeof text, std::isfinite(value) ? "%.17g" : "\"%g\"", value);
    const bool is_whole = std::string_view(text).find_first_of(".en\"") == std::string_view::npos;
    return is_whole ? std::string(text) + ".0" : text;
  }
  static F read(const HrValue &value) {
    if (value.kind == HR_VALUE_INT) return static_cast<F>(value.int_);
    if (value.kind != HR_VALUE_FLOAT) throw Error("expected a number");
    return static_cast<F>(value.float_);
  }
  static HrValue lent(F value) {
    HrValue out{};
    out.kind = HR_VALUE_FLOAT;
    out.float_ = static_cast<double>(value);
    return out;
  }
};

// A JSON string.
inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

template <>
struct Convert<std::string> {
  static std::string type() { return "\"string\""; }
  static std::string json(const std::string &value) { return quoted(value); }
  static std::string read(const HrValue &value) {
    if (value.kind != HR_VALUE_TEXT) throw Error("expected a string");
    return copy(value.text);
  }
  static HrValue lent(const std::string &value) {
    HrValue out{};
    out.kind = HR_VALUE_TEXT;
    out.text = lend(value);
    return out;
  }
};

template <class F>
struct Convert<std::vector<F>> {
  static std::string type() { return "{\"list\":" + Convert<F>::type() + "}"; }
  static std::string json(const std::vector<F> &values) {
    std::string out;
    for (const F &value : values) out += (out.empty() ? "" : ",") + Convert<F>::json(value);
    return "[" + out + "]";
  }
  static std::vector<F> read(const HrValue &value) {
    if (value.kind != HR_VALUE_LIST) throw Error("expected a list");
    std::vector<F> out;
    for (std::size_t i = 0; i < value.len; i++) out.push_back(Convert<F>::read(value.items[i]));
    return out;
  }
};

// Receives the state of a hook for a checkpoint.
class StateWriter {
 public:
  explicit StateWriter(const HrStateWriter *raw) : raw_(raw) {}
  template <class F>
  void put(std::string_view key, const F &value) {
    const HrValue lent = Convert<F>::lent(value);
    if (raw_->put_value(raw_->sink, lend(key), &lent) != HR_OK) {
      throw Error("cannot save `" + std::string(key) + "`");
    }
  }
  const HrStateWriter &raw() const { return *raw_; }

 private:
  const HrStateWriter *raw_;
};

// The saved state.
class StateReader {
 public:
  explicit StateReader(const HrStateReader *raw) : raw_(raw) {}
  template <class F>
  F value(std::string_view key) const {
    const HrValue *found = raw_->value(raw_->source, lend(key));
    if (found == nullptr) throw Error("the saved state has no `" + std::string(key) + "`");
    return Convert<F>::read(*found);
  }
  const HrStateReader &raw() const { return *raw_; }

 private:
  const HrStateReader *raw_;
};

// One setting of a `T`: its description, and how it is read.
template <class T>
class Setting {
 public:
  template <class F>
  Setting(std::string name, F T::*field, std::string_view doc) : name_(std::move(name)) {
    about_ = "{\"name\":" + quoted(name_) + ",\"doc\":" + quoted(doc) + ",\"type\":" + Convert<F>::type();
    default_ = ",\"default\":" + Convert<F>::json(T{}.*field);
    read_ = [field](T &object, const HrValue &value) { object.*field = Convert<F>::read(value); };
  }
  // The range of a number, inclusive; the host checks it before the plugin is called.
  Setting &min(double bound) { return bounded("min", bound); }
  Setting &max(double bound) { return bounded("max", bound); }
  // The setting is required.
  Setting &required() {
    default_ = ",\"required\":true";
    return *this;
  }
  // Another name of the key.
  Setting &alias(std::string_view key) {
    keys_.emplace_back(key);
    return *this;
  }

  std::string json() const {
    std::string aliases;
    for (const std::string &key : keys_) aliases += (aliases.empty() ? "" : ",") + quoted(key);
    return about_ + default_ + ",\"aliases\":[" + aliases + "]}";
  }
  void fill(T &object, const HrValue *settings) const {
    const HrValue *value = hr_field(settings, name_.c_str());
    for (const std::string &key : keys_) value = value == nullptr ? hr_field(settings, key.c_str()) : value;
    if (value == nullptr) return;
    try {
      read_(object, *value);
    } catch (const std::exception &error) {
      // An error that begins with the key is shown at that key of the config.
      throw Error(name_ + ": " + error.what());
    }
  }

 private:
  Setting &bounded(const char *end, double bound) {
    about_ += std::string(",\"") + end + "\":" + Convert<double>::json(bound);
    return *this;
  }

  std::string name_, about_, default_;
  std::vector<std::string> keys_;
  std::function<void(T &, const HrValue &)> read_;
};

// The description of a hook or metric, filled in by `describe`. Lists of words are separated by commas.
template <class T>
class About {
 public:
  About &doc(std::string_view text) { return say("doc", quoted(text)); }
  About &level(int number) { return say("level", std::to_string(number)); }
  About &level(std::string_view name) { return say("level", quoted(name)); }
  // The default cadence: "10it" or "2ep".
  About &every(std::string_view cadence) { return say("every", quoted(cadence)); }
  About &aliases(std::string_view words) { return say("aliases", list(words)); }
  About &mutates(std::string_view words) { return say("mutates", list(words)); }
  About &reads(std::string_view words) { return say("reads", list(words)); }
  About &writes(std::string_view words) { return say("writes", list(words)); }
  About &ops(std::string_view words) { return say("ops", list(words)); }
  About &on_error(std::string_view policy) { return say("on_error", quoted(policy)); }
  // The default ranks: "all", "main" for rank 0 only, or "last_stage" for those with the last stage of a pipeline.
  About &ranks(std::string_view which) { return say("ranks", quoted(which)); }
  About &better(std::string_view direction) { return say("better", quoted(direction)); }
  About &unit(std::string_view unit) { return say("unit", quoted(unit)); }
  // A key of the config that fills a field: bool, integers, floats, std::string, and vectors of these.
  template <class F>
  Setting<T> &setting(std::string name, F T::*field, std::string_view doc) {
    return settings_.emplace_back(std::move(name), field, doc);
  }
  // Calls a method at a point, such as HR_POINT_AFTER_TRAIN_ITER.
  About &at(std::uint32_t point, void (T::*call)(Trainer &)) {
    points_.emplace_back(point, call);
    return *this;
  }

  // Used by the tables below.
  std::string manifest(bool is_hook, bool has_state) const {
    std::string points, params;
    for (const auto &[code, call] : points_) points += (points.empty() ? "" : ",") + quoted(hr_point_name(code));
    for (const Setting<T> &one : settings_) params += (params.empty() ? "" : ",") + one.json();
    const std::string hook = is_hook ? "\"points\":[" + points + "],\"state\":" + (has_state ? "true," : "false,") : "";
    return "{" + hook + said_ + "\"params\":[" + params + "]}";
  }
  void fill(T &object, const HrValue *settings) const {
    for (const Setting<T> &one : settings_) one.fill(object, settings);
  }
  void call(T &object, std::uint32_t point, Trainer &trainer) const {
    for (const auto &[code, method] : points_) {
      if (code == point) return (object.*method)(trainer);
    }
  }

 private:
  About &say(const char *key, const std::string &json) {
    said_ += std::string("\"") + key + "\":" + json + ",";
    return *this;
  }
  static std::string list(std::string_view words) {
    std::string out;
    std::size_t from = 0;
    while ((from = words.find_first_not_of(", ", from)) != std::string_view::npos) {
      const std::size_t to = std::min(words.find_first_of(", ", from), words.size());
      out += (out.empty() ? "" : ",") + quoted(words.substr(from, to - from));
      from = to;
    }
    return "[" + out + "]";
  }

  std::string said_;
  std::deque<Setting<T>> settings_;
  std::vector<std::pair<std::uint32_t, void (T::*)(Trainer &)>> points_;
};

// The C functions around a `T`; no exception leaves them.
template <class T>
struct Tables {
  struct Instance {
    const TrainerHandle *trainer;
    T object;
  };

  template <class U>
  static auto saves(int) -> decltype(std::declval<const U &>().save(std::declval<StateWriter &>()), std::true_type());
  template <class U>
  static std::false_type saves(...);
  static constexpr bool has_state = decltype(saves<T>(0))::value;

  static const About<T> &about() {
    static const About<T> made = [] {
      About<T> about;
      T::describe(about);
      return about;
    }();
    return made;
  }

  template <class Body>
  static HrStatus guarded(const TrainerHandle *trainer, Body body) noexcept {
    try {
      body();
      return HR_OK;
    } catch (const std::exception &error) {
      trainer->set_error(trainer->host, hr_str(error.what()));
    } catch (...) {
      trainer->set_error(trainer->host, hr_str("an exception not derived from std::exception"));
    }
    return HR_ERROR;
  }
  template <class Body>
  static HrStatus with(void *instance, Body body) noexcept {
    auto &it = *static_cast<Instance *>(instance);
    return guarded(it.trainer, [&] { body(it.object); });
  }

  template <bool is_hook>
  static HrStr manifest() noexcept {
    try {
      static const std::string text = about().manifest(is_hook, has_state);
      return lend(text);
    } catch (...) {
      return {nullptr, 0};
    }
  }
  static HrStatus create(const TrainerHandle *trainer, const HrValue *settings, void **out) noexcept {
    return guarded(trainer, [&] {
      auto made = std::make_unique<Instance>(Instance{trainer, T{}});
      about().fill(made->object, settings);
      *out = made.release();
    });
  }
  static void destroy(void *instance) noexcept { delete static_cast<Instance *>(instance); }
  static HrStatus on_point(void *instance, std::uint32_t point, const TrainerHandle *trainer) noexcept {
    Trainer t(trainer);
    return with(instance, [&](T &object) { about().call(object, point, t); });
  }
  static HrStatus save(void *instance, const HrStateWriter *raw) noexcept {
    return with(instance, [&]([[maybe_unused]] T &object) {
      [[maybe_unused]] StateWriter writer(raw);
      if constexpr (has_state) object.save(writer);
    });
  }
  static HrStatus load(void *instance, const HrStateReader *raw) noexcept {
    return with(instance, [&]([[maybe_unused]] T &object) {
      if constexpr (has_state) object.load(StateReader(raw));
    });
  }
  static HrStatus update(void *instance, const TrainerHandle *trainer) noexcept {
    Trainer t(trainer);
    return with(instance, [&](T &object) { object.update(t); });
  }
  static HrStatus compute(void *instance, std::uint32_t scope, const HrScalarSink *sink) noexcept {
    return with(instance, [&](T &object) {
      if (scope != HR_METRIC_STEP && sink->put(sink->sink, HrStr{nullptr, 0}, object.compute()) != HR_OK) {
        throw Error("the host rejected the value");
      }
    });
  }
  static HrStatus reset(void *instance) noexcept {
    return with(instance, [](T &object) { object.reset(); });
  }
  static HrStatus merge(void *instance, const HrStateReader *raw) noexcept {
    return with(instance, [&](T &object) { object.merge(StateReader(raw)); });
  }
  static HrStatus replace(void *instance, const HrStateReader *raw) noexcept {
    return with(instance, [&](T &object) {
      object.reset();
      object.merge(StateReader(raw));
    });
  }
};

// The table of a hook; the name is its `type` in configs.
template <class T>
HookBase hook(const char *name) {
  using Of = Tables<T>;
  return {HR_HEADER(HookBase), hr_str(name),  Of::template manifest<true>, Of::create, Of::destroy,
          Of::on_point,        Of::save,      Of::load};
}

// The table of a metric.
template <class T>
MetricBase metric(const char *name) {
  using Of = Tables<T>;
  return {HR_HEADER(MetricBase), hr_str(name), Of::template manifest<false>, Of::create, Of::destroy, Of::update,
          Of::compute,           Of::reset,    Of::save,                     Of::replace, Of::merge};
}

// The tables of a library.
class Plugin {
 public:
  template <class... Entries>
  Plugin(const char *name, const char *version, const Entries &...entries) {
    (add(entries), ...);
    table_ = {HR_HEADER(HrPlugin), hr_str(name),         hr_str(version),       hr_str("C++ compiler " __VERSION__),
              hook_list_.data(),   hook_list_.size(), metric_list_.data(), metric_list_.size()};
  }
  const HrPlugin *table() const { return &table_; }

 private:
  void add(const HookBase &hook) { hook_list_.push_back(&hooks_.emplace_back(hook)); }
  void add(const MetricBase &metric) { metric_list_.push_back(&metrics_.emplace_back(metric)); }

  std::deque<HookBase> hooks_;
  std::deque<MetricBase> metrics_;
  std::vector<const HookBase *> hook_list_;
  std::vector<const MetricBase *> metric_list_;
  HrPlugin table_;
};

}  // namespace hookrack

// Exports the library, with its hooks and metrics after name and version.
#define HOOKRACK_PLUGIN(NAME, VERSION, ...)                              \
  extern "C" const HrPlugin *hookrack_plugin(void) {                     \
    static const hookrack::Plugin plugin(NAME, VERSION, __VA_ARGS__);    \
    return plugin.table();                                               \
  }

#endif // HOOKRACK_HPP
