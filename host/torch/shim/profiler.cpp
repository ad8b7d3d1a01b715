// What libtorch does, operator by operator: Kineto on the CPU, and ranges of our own in its trace.
#include "shim.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>

using namespace hookrack;
namespace profiler = torch::autograd::profiler;
namespace impl = torch::profiler::impl;

// What the calls of one operator cost. The same fields stand in `host/torch/src/profiler.rs`.
struct OpCost {
  const char* name;
  uint64_t calls, self_ns, total_ns, flops;
};

namespace {

enum Flags : uint32_t { Shapes = 1, Memory = 2, Flops = 4 };

impl::ProfilerConfig config(uint32_t flags) {
  return impl::ProfilerConfig(impl::ProfilerState::KINETO, (flags & Shapes) != 0, (flags & Memory) != 0,
                              /*with_stack=*/false, (flags & Flops) != 0);
}

const std::set<impl::ActivityType> activities{impl::ActivityType::CPU};

struct Span {
  uint64_t start, end;
  size_t cost;
};

using Costs = std::vector<std::pair<std::string, OpCost>>;

// Takes the time of each call out of the call around it. `spans` are of one thread.
void charge(std::vector<Span>& spans, Costs& costs) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::vector<const Span*> open;
  for (const auto& span : spans) {
    while (!open.empty() && open.back()->end <= span.start) open.pop_back();
    uint64_t time = span.end - span.start;
    if (!open.empty()) {
      auto& around = costs[open.back()->cost].second.self_ns;
      around -= std::min(around, time);
    }
    open.push_back(&span);
  }
}

Costs costs_of(const profiler::ProfilerResult& result) {
  Costs costs;
  std::unordered_map<std::string, size_t> known;
  std::map<uint64_t, std::vector<Span>> threads;
  for (const auto& event : result.events()) {
    // Operators alone: our ranges and the engine's own are in the trace, but cost nothing themselves.
    if (static_cast<at::RecordScope>(event.scope()) != at::RecordScope::FUNCTION) continue;
    auto name = event.name();
    if (name.find("::") == std::string::npos || name.rfind("autograd::", 0) == 0) continue;
    auto [found, is_new] = known.try_emplace(name, costs.size());
    if (is_new) costs.emplace_back(name, OpCost{nullptr, 0, 0, 0, 0});
    auto& cost = costs[found->second].second;
    cost.calls += 1;
    cost.total_ns += event.durationNs();
    cost.self_ns += event.durationNs();
    cost.flops += event.flops();
    threads[event.startThreadId()].push_back({event.startNs(), event.startNs() + event.durationNs(), found->second});
  }
  for (auto& [thread, spans] : threads) charge(spans, costs);
  std::sort(costs.begin(), costs.end(),
            [](const auto& a, const auto& b) { return a.second.self_ns > b.second.self_ns; });
  return costs;
}

// Kineto prints when it starts and stops, and that there is no GPU, unless the environment says what it prints.
void prepare(const impl::ProfilerConfig& with) {
  setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  profiler::prepareProfiler(with, activities);
}

}  // namespace

extern "C" {

char* hrt_profiler_prepare(uint32_t flags) {
  return guarded([&] { prepare(config(flags)); });
}

char* hrt_profiler_start(uint32_t flags) {
  return guarded([&] {
    auto with = config(flags);
    prepare(with);
    profiler::enableProfiler(with, activities);
  });
}

// Ends the profile; `path` is empty where no trace is wanted. Each operator goes to `take`, the costliest first.
char* hrt_profiler_stop(const char* path, size_t length, void (*take)(void*, const OpCost*), void* sink) {
  return guarded([&] {
    auto result = profiler::disableProfiler();
    if (length > 0) result->save(std::string(path, length));
    for (auto& [name, cost] : costs_of(*result)) {
      cost.name = name.c_str();
      take(sink, &cost);
    }
  });
}

// A range in the trace, until it is ended; null where nobody records.
at::RecordFunction* hrt_range_begin(const char* name, size_t length) noexcept {
  try {
    auto range = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
    if (!range->isActive()) return nullptr;
    range->before(std::string(name, length));
    return range.release();
  } catch (...) {
    return nullptr;
  }
}

void hrt_range_end(at::RecordFunction* range) noexcept { delete range; }

}  // extern "C"
