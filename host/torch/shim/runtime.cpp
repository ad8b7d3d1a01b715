// What belongs to libtorch as a whole: start-up, random state, threads, raw views, versions.
#include "shim.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Logging.h>
#include <torch/version.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

using namespace hookrack;

// DLPack's fields, borrowed from the tensor. The same fields stand in `host/torch/src/dlpack.rs`.
struct View {
  void* data;
  const int64_t* shape;
  const int64_t* strides;
  int64_t dims;
  int32_t device_type, device_id;
  uint8_t code, bits;
  uint16_t lanes;
};

namespace {

enum Code : uint8_t { Int = 0, UInt = 1, Float = 2, Bfloat = 4, Complex = 5, Bool = 6 };

struct DType {
  at::ScalarType scalar;
  uint8_t code, bits;
};

constexpr DType dtypes[] = {
    {at::kByte, UInt, 8},    {at::kChar, Int, 8},       {at::kShort, Int, 16},
    {at::kInt, Int, 32},     {at::kLong, Int, 64},      {at::kHalf, Float, 16},
    {at::kFloat, Float, 32}, {at::kDouble, Float, 64},  {at::kBFloat16, Bfloat, 16},
    {at::kBool, Bool, 8},    {at::kComplexFloat, Complex, 64}, {at::kComplexDouble, Complex, 128},
};

void describe(const at::Tensor& tensor, View& view) {
  if (!tensor.defined()) throw std::runtime_error("an undefined tensor has no memory to view");
  if (tensor.layout() != at::kStrided) throw std::runtime_error("only a dense tensor can be viewed");
  auto device = tensor.device();
  if (!device.is_cpu() && !device.is_cuda()) {
    throw std::runtime_error("a tensor on " + device.str() + " cannot be viewed");
  }
  view = View{tensor.data_ptr(),
              tensor.sizes().data(),
              tensor.strides().data(),
              tensor.dim(),
              device.is_cuda() ? 2 : 1,
              device.has_index() ? device.index() : 0,
              0,
              0,
              1};
  for (const auto& dtype : dtypes) {
    if (dtype.scalar != tensor.scalar_type()) continue;
    view.code = dtype.code;
    view.bits = dtype.bits;
    return;
  }
  throw std::runtime_error(std::string("no DLPack type for ") + c10::toString(tensor.scalar_type()));
}

at::TensorOptions options_of(const View& view) {
  auto device = view.device_type == 2 ? at::Device(at::kCUDA, static_cast<int8_t>(view.device_id))
                                      : at::Device(at::kCPU);
  for (const auto& dtype : dtypes) {
    if (dtype.code != view.code || dtype.bits != view.bits || view.lanes != 1) continue;
    return at::TensorOptions().dtype(dtype.scalar).device(device);
  }
  throw std::runtime_error("no tensor type for DLPack code " + std::to_string(view.code) + ", " +
                           std::to_string(view.bits) + " bits, " + std::to_string(view.lanes) + " lanes");
}

at::Tensor copy_of(const View& view) {
  auto dims = static_cast<size_t>(view.dims);
  at::IntArrayRef sizes(view.shape, dims);
  auto options = options_of(view);
  if (!view.strides) return at::from_blob(view.data, sizes, options).clone();
  return at::from_blob(view.data, sizes, at::IntArrayRef(view.strides, dims), options).clone();
}

// The default generator of a CUDA device; below 0 that of the CPU.
at::Generator generator_of(int cuda) {
  auto device = cuda < 0 ? at::Device(at::kCPU) : at::Device(at::kCUDA, static_cast<int8_t>(cuda));
  return at::globalContext().defaultGenerator(device);
}

}  // namespace

extern "C" {

// A C++ stack costs milliseconds and 25 lines per error; ours are told from the message alone.
char* hrt_start() {
  return guarded([] { c10::SetStackTraceFetcher(std::function<std::string()>([] { return std::string(); })); });
}

// Keeps libtorch's own log lines to itself, unless TORCH_CPP_LOG_LEVEL says which ones to print.
char* hrt_log_quietly() {
  return guarded([] {
    if (std::getenv("TORCH_CPP_LOG_LEVEL")) {
      c10::initLogging();
    } else {
      FLAGS_caffe2_log_level = c10::GLOG_FATAL;
    }
  });
}

void hrt_free_message(char* message) noexcept { std::free(message); }

char* hrt_rng_state(int cuda, at::Tensor** out) {
  return guarded([&] {
    auto generator = generator_of(cuda);
    std::lock_guard<std::mutex> lock(generator.mutex());
    *out = new at::Tensor(generator.get_state());
  });
}

char* hrt_rng_set_state(int cuda, const at::Tensor* state) {
  return guarded([&] {
    auto generator = generator_of(cuda);
    std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(*state);
  });
}

char* hrt_set_threads(int within_op, int between_ops) {
  return guarded([&] {
    if (within_op > 0) at::set_num_threads(within_op);
    if (between_ops > 0) at::set_num_interop_threads(between_ops);
  });
}

int hrt_threads_within_op() noexcept { return at::get_num_threads(); }

int hrt_threads_between_ops() noexcept { return at::get_num_interop_threads(); }

char* hrt_describe(const at::Tensor* tensor, View* out) {
  return guarded([&] { describe(*tensor, *out); });
}

char* hrt_copy_of(const View* view, at::Tensor** out) {
  return guarded([&] {
    at::NoGradGuard no_grad;
    *out = new at::Tensor(copy_of(*view));
  });
}

// A tensor of the caller's contiguous memory. `release(context)` is called once: when the memory is no longer needed,
// or at once on failure.
char* hrt_adopt(const View* view, void* context, void (*release)(void*), at::Tensor** out) {
  return guarded([&] {
    std::unique_ptr<void, void (*)(void*)> owner(context, release);
    auto options = options_of(*view);
    at::IntArrayRef sizes(view->shape, static_cast<size_t>(view->dims));
    at::NoGradGuard no_grad;
    *out = new at::Tensor(
        at::for_blob(view->data, sizes).context(owner.release(), release).options(options).make_tensor());
  });
}

const char* hrt_version() noexcept { return TORCH_VERSION; }

char* hrt_cpu_capability(char** out) {
  return guarded([&] { *out = strdup(at::get_cpu_capability().c_str()); });
}

}  // extern "C"
