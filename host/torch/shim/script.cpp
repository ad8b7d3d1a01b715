// TorchScript files: loading, their tensors by name, and whether train and eval can be told apart in them.
#include "shim.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/serialization/import.h>

#include <stdexcept>
#include <string>

using namespace hookrack;
using torch::jit::Module;
using torch::jit::Node;

namespace {

// The constant of an argument, by the argument's name; none if it is computed or there is no such argument.
std::optional<c10::IValue> constant(const Node& node, const char* name) {
  auto index = node.schema().argumentIndexWithName(name);
  if (!index || static_cast<size_t>(*index) >= node.inputs().size()) return std::nullopt;
  return torch::jit::toIValue(node.inputs()[static_cast<size_t>(*index)]);
}

bool is_zero(const std::optional<c10::IValue>& value) {
  return value && value->isScalar() && value->toScalar().toDouble() == 0.0;
}

// Whether an operator that acts otherwise in training has been told once and for all which of the two it is.
bool is_frozen(const Node& node) {
  if (!node.maybeSchema()) return false;
  if (auto drops = constant(node, "dropout_p")) return !is_zero(drops);
  for (const char* flag : {"train", "training", "use_input_stats"}) {
    if (!constant(node, flag)) continue;
    bool drops_nothing = is_zero(constant(node, "p")) || is_zero(constant(node, "dropout"));
    auto mean = constant(node, "running_mean");
    return !drops_nothing && !(mean && mean->isNone());
  }
  return false;
}

const Node* first_frozen(at::ArrayRef<const torch::jit::Block*> blocks) {
  for (const auto* block : blocks) {
    for (const auto* node : block->nodes()) {
      if (is_frozen(*node)) return node;
      if (const auto* inner = first_frozen(node->blocks())) return inner;
    }
  }
  return nullptr;
}

template <class Named>
void collect(const Named& named, List& tensors, std::string& names) {
  for (const auto& entry : named) {
    tensors.push_back(entry.value);
    names += entry.name + "\n";
  }
}

}  // namespace

extern "C" {

char* hrt_script_load(const char* path, size_t length, bool cuda, int8_t index, Module** out) {
  return guarded([&] {
    auto device = cuda ? at::Device(at::kCUDA, index) : at::Device(at::kCPU);
    *out = new Module(torch::jit::load(std::string(path, length), device));
  });
}

void hrt_script_free(Module* module) noexcept { delete module; }

// Fills the lists; `names` has a line for each parameter and `buffer_names` one for each buffer.
char* hrt_script_tensors(const Module* module, List* params, char** names, List* buffers,
                         char** buffer_names) {
  return guarded([&] {
    std::string params_text, buffers_text;
    collect(module->named_parameters(), *params, params_text);
    collect(module->named_buffers(), *buffers, buffers_text);
    *names = strdup(params_text.c_str());
    *buffer_names = strdup(buffers_text.c_str());
  });
}

// The name of an operator whose train flag is a constant, as tracing leaves it; null if there is none.
char* hrt_script_frozen_op(const Module* module, char** out) {
  return guarded([&] {
    *out = nullptr;
    auto method = module->find_method("forward");
    if (!method) throw std::runtime_error("it has no method named forward");
    auto graph = method->graph()->copy();
    torch::jit::Inline(*graph);
    const torch::jit::Block* top = graph->block();
    if (const auto* node = first_frozen({top})) *out = strdup(node->kind().toQualString());
  });
}

char* hrt_script_train(Module* module, bool on) {
  return guarded([&] { module->train(on); });
}

char* hrt_script_forward(Module* module, const at::Tensor* input, at::Tensor** out) {
  return guarded([&] {
    auto result = module->forward({*input});
    if (!result.isTensor()) throw std::runtime_error("it returns a " + result.tagKind() + ", not one tensor");
    *out = new at::Tensor(result.toTensor());
  });
}

}  // extern "C"
