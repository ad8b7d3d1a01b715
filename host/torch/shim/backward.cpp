// Backward passes. A graph on the CPU without hooks is walked here, node by node on the calling thread: libtorch's engine saves and
// restores the state of the thread around every node, which for a small model takes as long as the arithmetic of a layer. Order and
// accumulation are the engine's, so gradients have the same bits.
#include "shim.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/input_buffer.h>
#include <torch/csrc/autograd/node.h>

#include <queue>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace hookrack;
using torch::autograd::InputBuffer;
using torch::autograd::Node;
using torch::autograd::variable_list;

namespace {

// Whether nothing but the node itself acts on what flows through it, and no other device.
bool is_plain(Node& node) {
  return node.device().is_cpu() && node.pre_hooks().empty() && node.post_hooks().empty() &&
         node.tensor_pre_hooks().empty() && node.retains_grad_hooks().empty() && !node.tensor_post_acc_grad_hooks();
}

// Nodes that were created later come first; those that add to the gradient of a leaf before all others.
struct IsLater {
  bool operator()(const Node* one, const Node* other) const { return one->sequence_nr() < other->sequence_nr(); }
};

class Walk {
 public:
  // The nodes behind `root`; false if any of them is not plain.
  bool discover(Node& root) {
    std::vector<Node*> found{&root};
    reached_.try_emplace(&root, root.num_inputs());
    while (!found.empty()) {
      auto& node = *found.back();
      found.pop_back();
      if (!is_plain(node)) return false;
      for (const auto& edge : node.next_edges()) {
        if (!edge.is_valid()) continue;
        auto& next = *edge.function;
        auto [place, is_new] = reached_.try_emplace(&next, next.num_inputs());
        place->second.missing += 1;
        if (is_new) found.push_back(&next);
      }
    }
    return true;
  }

  void run(Node& root, uint32_t input, at::Tensor grad, bool keep_graph) {
    reached_.at(&root).grads.add(input, std::move(grad), std::nullopt, std::nullopt, &root);
    ready_.push(&root);
    while (!ready_.empty()) {
      auto& node = *ready_.top();
      ready_.pop();
      auto grads = evaluate(node, std::move(reached_.at(&node).grads.buffer), keep_graph);
      for (size_t i = 0; i < grads.size(); ++i) pass_on(node.next_edge(i), std::move(grads[i]));
    }
  }

 private:
  // The gradients that a node is given, and how many of the edges to it are still to be walked.
  struct Reached {
    explicit Reached(size_t inputs) : grads(inputs) {}
    InputBuffer grads;
    size_t missing = 0;
  };

  static variable_list evaluate(Node& node, variable_list&& inputs, bool keep_graph) {
    if (!keep_graph) node.will_release_variables();
    auto grads = node(std::move(inputs));
    if (!keep_graph) node.release_variables();
    if (grads.size() != node.num_outputs()) {
      throw std::runtime_error("Function " + node.name() + " returned an invalid number of gradients - expected " +
                               std::to_string(node.num_outputs()) + ", but got " + std::to_string(grads.size()));
    }
    torch::autograd::validate_outputs(node.next_edges(), grads, [&](const std::string& what) {
      return "Function " + node.name() + " returned an " + what;
    });
    return grads;
  }

  void pass_on(const torch::autograd::Edge& edge, at::Tensor&& grad) {
    if (!edge.is_valid()) return;
    auto* next = edge.function.get();
    auto& reached = reached_.at(next);
    reached.grads.add(edge.input_nr, std::move(grad), std::nullopt, std::nullopt, next);
    if (--reached.missing == 0) ready_.push(next);
  }

  std::unordered_map<Node*, Reached> reached_;
  std::priority_queue<Node*, std::vector<Node*>, IsLater> ready_;
};

// False if the graph is left to libtorch's engine, as is every error in what is asked for.
bool walked(const at::Tensor& loss, const at::Tensor* grad, bool keep_graph) {
  const auto& root = loss.grad_fn();
  bool has_grad = grad ? grad->sizes() == loss.sizes() && grad->scalar_type() == loss.scalar_type() && grad->is_cpu()
                       : loss.numel() == 1;
  if (!root || !has_grad || torch::autograd::AnomalyMode::is_enabled()) return false;
  Walk walk;
  if (!walk.discover(*root)) return false;
  at::AutoGradMode not_recorded(false);
  walk.run(*root, loss.output_nr(), grad ? *grad : at::ones_like(loss, at::MemoryFormat::Contiguous), keep_graph);
  return true;
}

}  // namespace

extern "C" {

// `grad` is null for a scalar loss.
char* hrt_backward(const at::Tensor* loss, const at::Tensor* grad, bool keep_graph) {
  return guarded([&] {
    if (walked(*loss, grad, keep_graph)) return;
    variable_list grads;
    if (grad) grads.push_back(*grad);
    torch::autograd::backward({*loss}, grads, keep_graph);
  });
}

// From several outputs at once, each with its gradient.
char* hrt_backward_all(const List* outputs, const List* grads) {
  return guarded([&] { torch::autograd::backward(*outputs, *grads); });
}

}  // extern "C"
