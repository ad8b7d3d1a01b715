// Process groups and their collectives.
#define USE_C10D_GLOO 1
#include "dist.h"

#include <torch/csrc/distributed/c10d/FlightRecorder.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#ifdef HOOKRACK_NCCL
#define USE_C10D_NCCL 1
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include <chrono>
#include <stdexcept>
#include <string>

using namespace hookrack;

namespace {

c10d::ReduceOp reduce_op(uint32_t code) {
  switch (code) {
    case 0: return c10d::ReduceOp::SUM;
    case 1: return c10d::ReduceOp::MAX;
    case 2: return c10d::ReduceOp::MIN;
    default: throw std::runtime_error("no such reduction: " + std::to_string(code));
  }
}

}  // namespace

extern "C" {

// A group of `world` ranks that talk by Gloo over the address of `host` (empty: the machine's own name) or over a network
// interface of that name, or by NCCL.
char* hrt_group_new(Store* store, int rank, int world, const char* name, const char* host, bool is_interface, bool nccl,
                    uint64_t timeout_ms, Group** out) {
  return guarded([&] {
    const std::chrono::milliseconds timeout(timeout_ms);
    auto group = c10::make_intrusive<c10d::ProcessGroup>(store->it, rank, world);
    if (nccl) {
#ifdef HOOKRACK_NCCL
      auto options = c10d::ProcessGroupNCCL::Options::create();
      options->timeout = timeout;
      auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(store->it, rank, world, options);
      group->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::NCCL, backend);
      group->setDefaultBackend(c10d::ProcessGroup::BackendType::NCCL);
#else
      throw std::runtime_error("this libtorch has no NCCL: use train.device = \"cpu\", or a libtorch with CUDA");
#endif
    }
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    options->devices.push_back(*host == '\0'   ? c10d::ProcessGroupGloo::createDefaultDevice()
                               : is_interface ? c10d::ProcessGroupGloo::createDeviceForInterface(host)
                                              : c10d::ProcessGroupGloo::createDeviceForHostname(host));
    auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store->it, rank, world, options);
    group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, backend);
    if (!nccl) group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
    group->setGroupName(name);
    *out = new Group{group};
  });
}

void hrt_group_free(Group* group) noexcept {
  // A group whose peers are gone may throw while it closes.
  guarded([&] { delete group; });
}

// Starts to replace `tensor` by the reduction over all ranks. The work waits; `tensor` is touched until then.
char* hrt_all_reduce_start(Group* group, const at::Tensor* tensor, uint32_t op, c10d::Work** out) {
  return guarded([&] {
    std::vector<at::Tensor> tensors{*tensor};
    c10d::AllreduceOptions options;
    options.reduceOp = reduce_op(op);
    *out = group->it->allreduce(tensors, options).release();
  });
}

// Waits for a collective that was started, and frees it.
char* hrt_work_wait(c10d::Work* work) {
  return guarded([&] { c10::intrusive_ptr<c10d::Work>::reclaim(work)->wait(); });
}

// Waits for a collective that was started, for so long at most; whether it is done.
char* hrt_work_wait_for(c10d::Work* work, uint64_t timeout_ms, bool* done) {
  return guarded([&] {
    try {
      work->wait(std::chrono::milliseconds(timeout_ms));
    } catch (...) {
      // The wait timed out, or the collective failed. It may also have been completed since the wait timed out.
      if (work->isCompleted() && !work->isSuccess()) throw;
    }
    *done = work->isCompleted();
  });
}

void hrt_work_free(c10d::Work* work) noexcept { c10::intrusive_ptr<c10d::Work>::reclaim(work); }

// Starts to send `tensor` to a rank, which takes messages of a tag in the order in which they are sent. The work holds it until then.
char* hrt_send_start(Group* group, const at::Tensor* tensor, int peer, int tag, c10d::Work** out) {
  return guarded([&] {
    std::vector<at::Tensor> tensors{*tensor};
    *out = group->it->send(tensors, peer, tag).release();
  });
}

// Starts to fill `tensor` with what a rank sends.
char* hrt_recv_start(Group* group, const at::Tensor* tensor, int peer, int tag, c10d::Work** out) {
  return guarded([&] {
    std::vector<at::Tensor> tensors{*tensor};
    *out = group->it->recv(tensors, peer, tag).release();
  });
}

char* hrt_broadcast(Group* group, const at::Tensor* tensor, int root) {
  return guarded([&] {
    std::vector<at::Tensor> tensors{*tensor};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    group->it->broadcast(tensors, options)->wait();
  });
}

// Fills `out`, which has a row for each rank, with the tensors of all of them.
char* hrt_all_gather(Group* group, const at::Tensor* out, const at::Tensor* tensor) {
  return guarded([&] {
    at::Tensor rows = *out, own = *tensor;
    group->it->all_gather_single(rows, own)->wait();
  });
}

char* hrt_barrier(Group* group) {
  return guarded([&] { group->it->barrier()->wait(); });
}

// What the collectives of this process were and how far they came, as JSON.
char* hrt_flight_record(void (*take)(void*, const uint8_t*, size_t), void* taker) {
  return guarded([&] {
    const std::string record = c10d::dump_fr_trace_json(true, false);
    take(taker, reinterpret_cast<const uint8_t*>(record.data()), record.size());
  });
}

}  // extern "C"
