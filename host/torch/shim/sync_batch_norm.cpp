// Batch normalization over the rows of all ranks.
#include "dist.h"
#include "norm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/var_mean.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <stdexcept>
#include <vector>

using namespace hookrack;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

// A graph must not keep a group open that its rank has left: whoever waits for the rank would wait on.
struct Ranks : torch::CustomClassHolder {
  explicit Ranks(const c10::intrusive_ptr<c10d::ProcessGroup>& group) : group(group) {}

  c10::intrusive_ptr<c10d::ProcessGroup> get() const {
    auto found = group.lock();
    if (!found) throw std::runtime_error("this rank has left the process group");
    return found;
  }

  c10::weak_intrusive_ptr<c10d::ProcessGroup> group;
};

// One number for each channel, beside a batch whose second side is the channel.
at::Tensor across(const at::Tensor& channels, const at::Tensor& like) {
  std::vector<int64_t> shape(like.dim(), 1);
  shape[1] = channels.numel();
  return channels.view(shape);
}

// Every side but that of the channel.
std::vector<int64_t> other_sides(const at::Tensor& input) {
  std::vector<int64_t> sides{0};
  for (int64_t side = 2; side < input.dim(); ++side) sides.push_back(side);
  return sides;
}

// The type of the arithmetic: 16-bit numbers are added up as floats.
at::ScalarType wide(const at::Tensor& input) {
  return at::isReducedFloatingType(input.scalar_type()) ? at::kFloat : input.scalar_type();
}

struct Statistics {
  at::Tensor mean;
  at::Tensor var;  // biased
  double count;
};

// Mean and variance over all ranks, the same bits on each: every rank adds up what all have, in the order of ranks.
Statistics statistics(c10d::ProcessGroup& group, const at::Tensor& input) {
  const auto type = wide(input);
  const int64_t channels = input.size(1);
  const double own = static_cast<double>(input.numel() / channels);
  const auto [var, mean] =
      at::var_mean(input.to(type), at::OptionalIntArrayRef(other_sides(input)), /*correction=*/at::Scalar(0));
  at::Tensor row = at::empty({2 * channels + 1}, input.options().dtype(at::kDouble));
  row.narrow(0, 0, channels).copy_(mean);
  row.narrow(0, channels, channels).copy_(var);
  row.narrow(0, 2 * channels, 1).fill_(own);
  at::Tensor rows = at::empty({group.getSize() * row.numel()}, row.options());
  group.all_gather_single(rows, row)->wait();
  rows = rows.view({group.getSize(), -1});
  const at::Tensor means = rows.narrow(1, 0, channels), vars = rows.narrow(1, channels, channels);
  const at::Tensor counts = rows.narrow(1, 2 * channels, 1), count = counts.sum();
  const at::Tensor whole = means.mul(counts).sum(0).div(count);
  const at::Tensor spread = vars.add(means.sub(whole).square()).mul(counts).sum(0).div(count);
  return {whole.to(type), spread.to(type), count.item<double>()};
}

struct SyncBatchNorm : torch::autograd::Function<SyncBatchNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias, at::Tensor running_mean, at::Tensor running_var,
                            const c10::intrusive_ptr<Ranks>& ranks, double momentum, double eps) {
    // Each of several ranks has a row: there is a variance.
    const auto found = statistics(*ranks->get(), input);
    running_mean.lerp_(found.mean.to(running_mean.scalar_type()), momentum);
    const at::Tensor unbiased = found.var.mul(found.count / (found.count - 1));
    running_var.lerp_(unbiased.to(running_var.scalar_type()), momentum);
    context->save_for_backward({input, weight, found.mean, found.var});
    context->saved_data["ranks"] = c10::IValue::make_capsule(ranks);
    context->saved_data["count"] = found.count;
    context->saved_data["eps"] = eps;
    // Given statistics are what an evaluation normalizes by.
    return std::get<0>(
        at::native_batch_norm(input, weight, bias, found.mean, found.var, /*training=*/false, momentum, eps));
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    if (c10::GradMode::is_enabled()) {
      throw std::runtime_error(
          "batch normalization over all ranks has no second derivative: set distributed.sync_batch_norm = false");
    }
    const auto saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1], &mean = saved[2], &var = saved[3];
    const auto ranks = c10::static_intrusive_pointer_cast<Ranks>(context->saved_data["ranks"].toCapsule());
    const double count = context->saved_data["count"].toDouble(), eps = context->saved_data["eps"].toDouble();
    // As if mean and variance were constants.
    auto [direct, of_weight, of_bias] = at::native_batch_norm_backward(
        grads[0], input, weight, mean, var, {}, {}, /*train=*/false, eps, {true, true, true});
    // What comes through mean and variance is what all rows of all ranks send back.
    std::vector<at::Tensor> sums{at::empty({2, mean.numel()}, mean.options().dtype(at::kDouble))};
    sums[0][0].copy_(of_weight);
    sums[0][1].copy_(of_bias);
    ranks->get()->allreduce(sums)->wait();
    const at::Tensor shares = sums[0].div(count).to(mean.scalar_type());
    const at::Tensor inverse = var.add(eps).rsqrt(), slope = inverse.mul(weight.to(mean.scalar_type()));
    at::Tensor through = input.sub(across(mean, input)).mul_(across(inverse.mul(shares[0]), input));
    through.add_(across(shares[1], input)).mul_(across(slope, input));
    return {direct.sub(through).to(input.scalar_type()), of_weight, of_bias, {}, {}, {}, {}, {}};
  }
};

}  // namespace

extern "C" {

// Normalizes `input` in training by the mean and variance over all ranks of a group, which all call it, and moves the running ones.
char* hrt_sync_batch_norm(Group* group, const at::Tensor* input, const Norm* norm, at::Tensor** out) {
  return guarded([&] {
    const auto ranks = c10::make_intrusive<Ranks>(group->it);
    *out = new at::Tensor(SyncBatchNorm::apply(*input, *norm->weight, *norm->bias, *norm->running_mean, *norm->running_var,
                                               ranks, norm->momentum, norm->eps));
  });
}

}  // extern "C"
