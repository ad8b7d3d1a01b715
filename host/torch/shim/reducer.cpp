// libtorch's own reducer of gradients: buckets, filled and reduced while the backward pass still runs.
#include "dist.h"

#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>

using namespace hookrack;

namespace {

using GroupPtr = c10::intrusive_ptr<c10d::ProcessGroup>;

// Sums a bucket over all ranks; libtorch's own hooks divide by their number first.
class Sum : public c10d::CppCommHookInterface<GroupPtr> {
 public:
  using CppCommHookInterface::CppCommHookInterface;

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    std::vector<at::Tensor> whole{bucket.getBuffer()};
    return state_->allreduce(whole)->getFuture();
  }
};

// The same in half precision: half the bytes on the wire.
class SumInHalf : public c10d::CppCommHookInterface<GroupPtr> {
 public:
  using CppCommHookInterface::CppCommHookInterface;

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    at::Tensor whole = bucket.getBuffer();
    std::vector<at::Tensor> half{whole.to(at::kHalf)};
    auto reduced = state_->allreduce(half)->getFuture();
    return reduced->then(
        [whole, half](c10::ivalue::Future& done) {
          if (done.hasError()) std::rethrow_exception(done.exception_ptr());
          whole.copy_(half[0]);
          return c10::IValue(std::vector<at::Tensor>{whole});
        },
        c10::ListType::ofTensors());
  }
};

std::vector<std::vector<size_t>> buckets_of(const List& params, size_t first, size_t cap) {
  const std::vector<bool> sparse(params.size(), false);
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(params, {first, cap}, sparse);
  // Gradients come in about the reverse order of the parameters.
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

}  // namespace

extern "C" {

// Gives the bytes of each bucket that the reducer begins with, in the order in which they are reduced; `out` has room for as
// many as there are parameters. Returns their number.
char* hrt_bucket_bytes(const List* params, size_t first, size_t cap, size_t* out, size_t* count) {
  return guarded([&] {
    const auto buckets = buckets_of(*params, first, cap);
    *count = buckets.size();
    for (const auto& bucket : buckets) {
      size_t bytes = 0;
      for (size_t index : bucket) bytes += (*params)[index].nbytes();
      *out++ = bytes;
    }
  });
}

// `names` are those of the parameters, for messages. Gradients are summed, not averaged: their weights are the caller's.
char* hrt_reducer_new(const List* params, const char* const* names, Group* group, size_t first, size_t cap,
                      bool find_unused, bool half, c10d::Reducer** out) {
  return guarded([&] {
    std::unordered_map<size_t, std::string> by_index;
    for (size_t index = 0; index < params->size(); ++index) by_index[index] = names[index];
    c10d::verify_params_across_processes(group->it, *params, {});
    auto reducer = std::make_unique<c10d::Reducer>(
        *params, buckets_of(*params, first, cap), group->it, std::vector<bool>(params->size(), false),
        static_cast<int64_t>(cap), find_unused, /*gradient_as_bucket_view=*/true, by_index,
        static_cast<int64_t>(first), /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
        std::vector<int64_t>{});
    std::unique_ptr<c10d::CommHookInterface> hook;
    if (half) {
      hook = std::make_unique<SumInHalf>(group->it);
    } else {
      hook = std::make_unique<Sum>(group->it);
    }
    reducer->register_comm_hook(std::move(hook));
    *out = reducer.release();
  });
}

void hrt_reducer_free(c10d::Reducer* reducer) noexcept {
  guarded([&] { delete reducer; });
}

// Before a forward pass whose gradients will be reduced.
char* hrt_reducer_forward(c10d::Reducer* reducer) {
  return guarded([&] {
    reducer->prepare_for_forward();
    reducer->rebuild_buckets();
  });
}

// Before a backward pass whose gradients are to be reduced; without this they only add up.
char* hrt_reducer_backward(c10d::Reducer* reducer, const at::Tensor* output) {
  return guarded([&] { reducer->prepare_for_backward({*output}); });
}

// The index of the first parameter without a gradient, or the number of parameters.
size_t hrt_first_without_grad(const List* params) noexcept {
  const auto found = std::find_if(params->begin(), params->end(),
                                  [](const at::Tensor& param) { return !param.grad().defined(); });
  return static_cast<size_t>(found - params->begin());
}

}  // extern "C"
