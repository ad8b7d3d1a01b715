// Tracing: what a model does to some tensors becomes a graph that runs without the model's code.
#include "shim.h"

#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/fixup_trace_scope_blocks.h>
#include <torch/csrc/jit/passes/normalize_ops.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <stdexcept>
#include <string>

using namespace hookrack;
namespace tracer = torch::jit::tracer;

// A traced graph, ready to run.
struct Graph {
  torch::jit::GraphExecutor executor;
  size_t inputs;
};

extern "C" {

// From here on, what this thread does to the inputs is recorded. They are told apart by identity.
char* hrt_trace_begin(const List* inputs) {
  return guarded([&] {
    if (tracer::isTracing()) throw std::runtime_error("a trace is already being recorded");
    auto state = std::make_shared<tracer::TracingState>();
    state->warn = false;
    for (const auto& input : *inputs) {
      auto* value = state->graph->addInput();
      value->setType(c10::TensorType::get());
      state->setValue(input, value);
    }
    tracer::setTracingState(state);
  });
}

char* hrt_trace_abandon() {
  return guarded([] { tracer::abandon(); });
}

// Ends the recording: the graph leads from the inputs to `output`.
char* hrt_trace_end(const at::Tensor* output, Graph** out) {
  return guarded([&] {
    auto state = tracer::getTracingState();
    if (!state) throw std::runtime_error("no trace is being recorded");
    auto graph = state->graph;
    graph->registerOutput(state->getOutput(*output, 0));
    tracer::setTracingState(nullptr);
    torch::jit::FixupTraceScopeBlocks(graph, nullptr);
    torch::jit::NormalizeOps(graph);
    *out = new Graph{torch::jit::GraphExecutor(graph, "forward"), graph->inputs().size()};
  });
}

void hrt_graph_free(Graph* graph) noexcept { delete graph; }

// `first` stands for the first input of the trace, `rest` for the others in their order.
char* hrt_graph_run(Graph* graph, const at::Tensor* first, const List* rest, at::Tensor** out) {
  return guarded([&] {
    if (rest->size() + 1 != graph->inputs) {
      throw std::runtime_error("the graph takes " + std::to_string(graph->inputs) + " tensors, found " +
                               std::to_string(rest->size() + 1));
    }
    torch::jit::Stack stack;
    stack.reserve(graph->inputs);
    stack.emplace_back(*first);
    for (const auto& tensor : *rest) stack.emplace_back(tensor);
    // The graph runs as it was recorded, every operation through autograd and autocast. Once profiled, libtorch would
    // put its own symbolic gradients in place of autograd's: they ignore autocast, and round some functions otherwise.
    torch::jit::GraphOptimizerEnabledGuard as_recorded(false);
    graph->executor.run(stack);
    if (stack.size() != 1 || !stack[0].isTensor()) throw std::runtime_error("the graph did not return a tensor");
    *out = new at::Tensor(stack[0].toTensor());
  });
}

}  // extern "C"
