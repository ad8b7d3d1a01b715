// C++ values as values of the ABI, and the saved state of a hook. Part of hookrack.hpp.

#ifndef HOOKRACK_VALUES_HPP
#define HOOKRACK_VALUES_HPP

#include "trainer.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Hidden visibility: two libraries in one process may have classes of the same name.
namespace hookrack __attribute__((visibility("hidden"))) {

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

// A value lent to the host for a call: of a list, with its items.
template <class F>
struct Lent {
  explicit Lent(const F &value) : value(Convert<F>::lent(value)) {}
  HrValue value;
};
template <class F>
struct Lent<std::vector<F>> {
  explicit Lent(const std::vector<F> &values) {
    for (const F &one : values) items.push_back(Convert<F>::lent(one));
    value.kind = HR_VALUE_LIST;
    value.items = items.data();
    value.len = items.size();
  }
  std::vector<HrValue> items;
  HrValue value{};
};

// Receives the state of a hook for a checkpoint.
class StateWriter {
 public:
  explicit StateWriter(const HrStateWriter *raw) : raw_(raw) {}
  // Saves a bool, a number, a string, or a vector of one of these.
  template <class F>
  void put(std::string_view key, const F &value) {
    const Lent<F> lent(value);
    require(key, raw_->put_value(raw_->sink, lend(key), &lent.value));
  }
  // Saves the contents of a tensor; of a list as `key.0`, `key.1` and so on.
  void put(std::string_view key, const Tensor &tensor) {
    require(key, raw_->put_tensor(raw_->sink, lend(key), tensor.handle()));
  }
  void put(std::string_view key, const Tensors &tensors) {
    for (std::size_t i = 0; i < tensors.size(); i++) put(std::string(key) + "." + std::to_string(i), tensors[i]);
  }
  const HrStateWriter &raw() const { return *raw_; }

 private:
  static void require(std::string_view key, HrStatus status) {
    if (status != HR_OK) throw Error("cannot save `" + std::string(key) + "`");
  }

  const HrStateWriter *raw_;
};

// The saved state.
class StateReader {
 public:
  StateReader(const HrStateReader *raw, const TrainerHandle &trainer) : raw_(raw), trainer_(&trainer) {}
  template <class F>
  F value(std::string_view key) const {
    const HrValue *found = raw_->value(raw_->source, lend(key));
    if (found == nullptr) throw Error("the saved state has no `" + std::string(key) + "`");
    return Convert<F>::read(*found);
  }
  // A saved tensor, on the CPU.
  Tensor tensor(std::string_view key) const {
    HrTensor found = HR_TENSOR_NONE;
    if (raw_->tensor(raw_->source, lend(key), &found) != HR_OK) {
      throw Error("the saved state has no tensor `" + std::string(key) + "`");
    }
    return Tensor::owned(*trainer_, found);
  }
  // A saved list of tensors; empty if there is none.
  Tensors tensors(std::string_view key) const {
    Tensors out;
    HrTensor found = HR_TENSOR_NONE;
    const std::string first = std::string(key) + ".";
    while (raw_->tensor(raw_->source, lend(first + std::to_string(out.size())), &found) == HR_OK) {
      out.push_back(Tensor::owned(*trainer_, found));
    }
    return out;
  }
  const HrStateReader &raw() const { return *raw_; }

 private:
  const HrStateReader *raw_;
  const TrainerHandle *trainer_;
};

// Receives the values of a metric. The name of each is that of the metric, followed by `.suffix` unless it is empty.
class Scalars {
 public:
  explicit Scalars(const HrScalarSink *raw) : raw_(raw) {}
  void put(std::string_view suffix, double value) {
    if (raw_->put(raw_->sink, lend(suffix), value) != HR_OK) throw Error("the host rejected the value");
  }

 private:
  const HrScalarSink *raw_;
};

}  // namespace hookrack

#endif // HOOKRACK_VALUES_HPP
