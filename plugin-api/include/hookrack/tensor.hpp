// Tensors of the host: their shape and elements, and the operators of libtorch. Part of hookrack.hpp.

#ifndef HOOKRACK_TENSOR_HPP
#define HOOKRACK_TENSOR_HPP

#include "../hookrack.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
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

// Throws the host's error message if a call to it failed.
inline void check(const TrainerHandle &trainer, HrStatus status) {
  if (status != HR_OK) throw Error(copy(trainer.last_error(trainer.host)));
}

class Tensor;
using Tensors = std::vector<Tensor>;

// An argument of an operator: a tensor, a list of tensors, a number, a string (a dtype, a device), a list of numbers, or none.
// It borrows tensors and strings.
class Arg {
 public:
  // No value, for an optional argument.
  Arg() = default;
  Arg(const Tensor &tensor);
  Arg(const Tensors &tensors);
  template <class N, std::enable_if_t<std::is_arithmetic_v<N>, int> = 0>
  Arg(N number) {
    if constexpr (std::is_floating_point_v<N>) {
      raw_.kind = HR_ARG_FLOAT;
      raw_.float_ = static_cast<double>(number);
    } else {
      raw_.kind = std::is_same_v<N, bool> ? HR_ARG_BOOL : HR_ARG_INT;
      raw_.int_ = static_cast<std::int64_t>(number);
    }
  }
  Arg(std::string_view text) : raw_{HR_ARG_TEXT, 0, 0.0, text.data(), text.size()} {}
  Arg(const char *text) : Arg(std::string_view(text)) {}
  Arg(const std::vector<std::int64_t> &numbers) : ints_(numbers) { raw_.kind = HR_ARG_INTS; }
  Arg(std::initializer_list<std::int64_t> numbers) : Arg(std::vector<std::int64_t>(numbers)) {}
  Arg(const std::vector<double> &numbers) : floats_(numbers) { raw_.kind = HR_ARG_FLOATS; }

  bool is_tensor() const { return raw_.kind == HR_ARG_TENSOR; }
  // What a call receives; valid as long as this argument.
  HrArg raw() const {
    switch (raw_.kind) {
      case HR_ARG_TENSORS: return {raw_.kind, 0, 0.0, handles_.data(), handles_.size()};
      case HR_ARG_INTS: return {raw_.kind, 0, 0.0, ints_.data(), ints_.size()};
      case HR_ARG_FLOATS: return {raw_.kind, 0, 0.0, floats_.data(), floats_.size()};
      default: return raw_;
    }
  }

 private:
  HrArg raw_{HR_ARG_NONE, 0, 0.0, nullptr, 0};
  std::vector<HrTensor> handles_;
  std::vector<std::int64_t> ints_;
  std::vector<double> floats_;
};

// Calls an operator of libtorch by its full name, such as `aten::lerp_.Scalar`, and returns the tensors among its first
// `capacity` results, at most 4; those of a list one by one. The name is looked up once in the process.
inline Tensors call_op(const TrainerHandle &trainer, std::string_view name, std::initializer_list<Arg> args,
                       std::size_t capacity = 4);

// A handle to a tensor that the host keeps. Copies of it are the same tensor. Those of the batch and the gradients are valid
// until the iteration ends, those of parameters for the whole run; a result of an operator stays until its last copy is
// destroyed, which must not outlive the hook. Everything that fails throws an Error.
class Tensor {
 public:
  // A handle that the host keeps valid.
  Tensor(const TrainerHandle &trainer, HrTensor handle) : trainer_(&trainer), handle_(handle) {}
  // A handle that is released with its last copy, such as a result of an operator.
  static Tensor owned(const TrainerHandle &trainer, HrTensor handle) {
    Tensor tensor(trainer, handle);
    tensor.owner_ = std::shared_ptr<const TrainerHandle>(&trainer, [handle](const TrainerHandle *of) {
      of->tensors->release(of->host, &handle, 1);
    });
    return tensor;
  }

  HrTensor handle() const { return handle_; }
  const TrainerHandle &trainer() const { return *trainer_; }
  // Whether there is none, as for the gradient of a frozen parameter.
  bool is_absent() const { return handle_ == HR_TENSOR_NONE; }

  // Its value, if it has one element. Waits for the device.
  double item() const {
    double number = 0.0;
    check(*trainer_, trainer_->tensors->item(trainer_->host, handle_, &number));
    return number;
  }
  // All elements in row-major order, converted to T: double, float, std::int64_t, std::int32_t or std::uint8_t. Copies, and
  // waits for the device.
  template <class T>
  std::vector<T> to_vector() const;
  std::vector<std::int64_t> shape() const {
    const HrDLTensor seen = view();
    return std::vector<std::int64_t>(seen.shape, seen.shape + seen.ndim);
  }
  std::int64_t dim() const { return view().ndim; }
  // The size of a dimension; a negative one counts from the last.
  std::int64_t size(std::int64_t dim) const {
    const std::vector<std::int64_t> sizes = shape();
    const auto count = static_cast<std::int64_t>(sizes.size());
    const std::int64_t at = dim < 0 ? dim + count : dim;
    if (at < 0 || at >= count) throw Error("a tensor of " + std::to_string(count) + " dimensions has no dimension " + std::to_string(dim));
    return sizes[static_cast<std::size_t>(at)];
  }
  std::int64_t numel() const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape()) count *= size;
    return count;
  }
  // Its memory on its device, without a copy, until the current point returns; with `HR_VIEW_WRITE` also to write to.
  HrDLTensor view(std::uint32_t flags = 0) const {
    HrDLTensor seen{};
    check(*trainer_, trainer_->tensors->view(trainer_->host, handle_, flags, &seen));
    return seen;
  }
  // The same tensor, valid until its last copy is destroyed, also after the iteration.
  Tensor keep() const {
    HrTensor kept = HR_TENSOR_NONE;
    check(*trainer_, trainer_->tensors->keep(trainer_->host, handle_, &kept));
    return owned(*trainer_, kept);
  }
  // A copy without gradients, which the hook may change.
  Tensor clone_detached() const { return detach().call("aten::clone"); }

  // Any operator of libtorch with this tensor as its first argument: `x.call("aten::softmax.int", 1)`. Arguments are in the
  // order of its schema; trailing ones with defaults can be omitted.
  template <class... Args>
  Tensor call(std::string_view op, const Args &...args) const {
    const Tensors results = call_op(*trainer_, op, {Arg(*this), Arg(args)...});
    if (results.empty()) throw Error(std::string(op) + " did not return a tensor");
    return results.front();
  }
  // An operator whose results are not needed, such as one in place.
  template <class... Args>
  void run(std::string_view op, const Args &...args) const {
    call_op(*trainer_, op, {Arg(*this), Arg(args)...}, 0);
  }

  // The usual operators, with PyTorch's names and semantics. They take part in autograd where gradients are recorded.
  using Dims = std::initializer_list<std::int64_t>;
  Tensor abs() const { return call("aten::abs"); }
  Tensor neg() const { return call("aten::neg"); }
  Tensor exp() const { return call("aten::exp"); }
  Tensor log() const { return call("aten::log"); }
  Tensor sqrt() const { return call("aten::sqrt"); }
  Tensor square() const { return call("aten::square"); }
  Tensor sign() const { return call("aten::sign"); }
  Tensor tanh() const { return call("aten::tanh"); }
  Tensor sigmoid() const { return call("aten::sigmoid"); }
  Tensor relu() const { return call("aten::relu"); }
  Tensor isfinite() const { return call("aten::isfinite"); }
  Tensor pow(double exponent) const { return call("aten::pow.Tensor_Scalar", exponent); }
  Tensor clamp(double min, double max) const { return call("aten::clamp", min, max); }
  Tensor lerp(const Tensor &end, double weight) const { return call("aten::lerp.Scalar", end, weight); }
  Tensor sum() const { return call("aten::sum"); }
  Tensor sum(Dims dims, bool keepdim = false) const { return call("aten::sum.dim_IntList", dims, keepdim); }
  Tensor mean() const { return call("aten::mean"); }
  Tensor mean(Dims dims, bool keepdim = false) const { return call("aten::mean.dim", dims, keepdim); }
  Tensor max() const { return call("aten::max"); }
  Tensor min() const { return call("aten::min"); }
  Tensor norm() const { return call("aten::linalg_vector_norm"); }
  Tensor argmax(std::int64_t dim, bool keepdim = false) const { return call("aten::argmax", dim, keepdim); }
  Tensor softmax(std::int64_t dim) const { return call("aten::softmax.int", dim); }
  Tensor log_softmax(std::int64_t dim) const { return call("aten::log_softmax.int", dim); }
  Tensor matmul(const Tensor &other) const { return call("aten::matmul", other); }
  Tensor cross_entropy(const Tensor &target) const { return call("aten::cross_entropy_loss", target); }
  Tensor mse_loss(const Tensor &target) const { return call("aten::mse_loss", target); }
  Tensor reshape(const std::vector<std::int64_t> &shape) const { return call("aten::reshape", shape); }
  Tensor unsqueeze(std::int64_t dim) const { return call("aten::unsqueeze", dim); }
  Tensor squeeze(std::int64_t dim) const { return call("aten::squeeze.dim", dim); }
  Tensor select(std::int64_t dim, std::int64_t index) const { return call("aten::select.int", dim, index); }
  Tensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
    return call("aten::narrow", dim, start, length);
  }
  Tensor gather(std::int64_t dim, const Tensor &index) const { return call("aten::gather", dim, index); }
  Tensor index_select(std::int64_t dim, const Tensor &index) const { return call("aten::index_select", dim, index); }
  Tensor one_hot(std::int64_t classes) const { return call("aten::one_hot", classes); }
  Tensor eq(const Tensor &other) const { return call("aten::eq.Tensor", other); }
  Tensor eq(double number) const { return call("aten::eq.Scalar", number); }
  Tensor gt(double number) const { return call("aten::gt.Scalar", number); }
  Tensor lt(double number) const { return call("aten::lt.Scalar", number); }
  Tensor detach() const { return call("aten::detach"); }
  Tensor zeros_like() const { return call("aten::zeros_like"); }
  Tensor randn_like() const { return call("aten::randn_like"); }
  // To `"float32"`, `"int64"` and so on.
  Tensor to_dtype(std::string_view dtype) const { return call("aten::to.dtype", dtype); }

  // In place. A tensor of the run needs a word in `mutates`.
  void add_(const Tensor &other, double alpha = 1.0) const { run("aten::add_.Tensor", other, alpha); }
  void sub_(const Tensor &other) const { run("aten::sub_.Tensor", other); }
  void mul_(double factor) const { run("aten::mul_.Scalar", factor); }
  void copy_(const Tensor &source) const { run("aten::copy_", source); }
  void lerp_(const Tensor &end, double weight) const { run("aten::lerp_.Scalar", end, weight); }
  void clamp_(double min, double max) const { run("aten::clamp_", min, max); }
  void fill_(double value) const { run("aten::fill_.Scalar", value); }
  void zero_() const { run("aten::zero_"); }

 private:
  const TrainerHandle *trainer_;
  HrTensor handle_;
  std::shared_ptr<const TrainerHandle> owner_;
};

// `+ - * /` between tensors and numbers; each returns a new tensor.
inline Tensor operator+(const Tensor &a, const Tensor &b) { return a.call("aten::add.Tensor", b); }
inline Tensor operator-(const Tensor &a, const Tensor &b) { return a.call("aten::sub.Tensor", b); }
inline Tensor operator*(const Tensor &a, const Tensor &b) { return a.call("aten::mul.Tensor", b); }
inline Tensor operator/(const Tensor &a, const Tensor &b) { return a.call("aten::div.Tensor", b); }
inline Tensor operator+(const Tensor &a, double b) { return a.call("aten::add.Scalar", b); }
inline Tensor operator-(const Tensor &a, double b) { return a.call("aten::sub.Scalar", b); }
inline Tensor operator*(const Tensor &a, double b) { return a.call("aten::mul.Scalar", b); }
inline Tensor operator/(const Tensor &a, double b) { return a.call("aten::div.Scalar", b); }
inline Tensor operator+(double a, const Tensor &b) { return b + a; }
inline Tensor operator-(double a, const Tensor &b) { return b.call("aten::rsub.Scalar", a); }
inline Tensor operator*(double a, const Tensor &b) { return b * a; }
inline Tensor operator/(double a, const Tensor &b) { return b.call("aten::reciprocal") * a; }
inline Tensor operator-(const Tensor &a) { return a.neg(); }

inline Arg::Arg(const Tensor &tensor) {
  raw_.kind = HR_ARG_TENSOR;
  raw_.int_ = static_cast<std::int64_t>(tensor.handle());
}

inline Arg::Arg(const Tensors &tensors) {
  raw_.kind = HR_ARG_TENSORS;
  for (const Tensor &tensor : tensors) handles_.push_back(tensor.handle());
}

inline Tensors call_op(const TrainerHandle &trainer, std::string_view name, std::initializer_list<Arg> args,
                       std::size_t capacity) {
  static std::map<std::string, HrOp, std::less<>> known;
  auto op = known.find(name);
  if (op == known.end()) {
    HrOp found = 0;
    check(trainer, trainer.tensors->op_find(trainer.host, lend(name), &found));
    op = known.emplace(name, found).first;
  }
  std::vector<HrArg> raw;
  for (const Arg &arg : args) raw.push_back(arg.raw());
  HrArg results[4] = {};
  std::size_t count = 0;
  check(trainer, trainer.tensors->op_call(trainer.host, op->second, raw.data(), raw.size(), results, capacity, &count));
  Tensors out;
  for (std::size_t i = 0; i < count && i < capacity; i++) {
    if (results[i].kind == HR_ARG_TENSOR) {
      out.push_back(Tensor::owned(trainer, static_cast<HrTensor>(results[i].int_)));
    } else if (results[i].kind == HR_ARG_TENSORS) {
      const auto *handles = static_cast<const HrTensor *>(results[i].ptr);
      for (std::size_t k = 0; k < results[i].len; k++) out.push_back(Tensor::owned(trainer, handles[k]));
    }
  }
  return out;
}

// The dtype of a C++ type, as operators take it.
template <class T>
constexpr const char *dtype_of() {
  if constexpr (std::is_same_v<T, double>) return "float64";
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8";
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor plain = call("aten::to.dtype_layout", dtype_of<T>(), Arg(), "cpu").call("aten::contiguous");
  const HrDLTensor seen = plain.view();
  const auto *first = reinterpret_cast<const T *>(static_cast<const char *>(seen.data) + seen.byte_offset);
  return std::vector<T>(first, first + plain.numel());
}

}  // namespace hookrack

#endif // HOOKRACK_TENSOR_HPP
