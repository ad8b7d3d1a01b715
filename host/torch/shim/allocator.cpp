// The memory of tensors on the CPU. What a step frees is kept by size and handed out again: the next step asks for the same sizes, and
// neither searches a heap nor splits and joins its blocks, which is also how a heap fragments.
#include "shim.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

// Sizes are rounded up to eight steps for each power of two: at most an eighth of a block is not asked for.
constexpr size_t STEPS = 8, STEP = 64, SIZES = STEPS * 48;

size_t class_of(size_t bytes) {
  const size_t steps = (bytes + STEP - 1) / STEP;
  if (steps <= STEPS) return steps - 1;
  const auto shift = static_cast<size_t>(std::bit_width(steps - 1)) - std::bit_width(STEPS);
  return shift * STEPS + ((steps - 1) >> shift);
}

size_t bytes_of(size_t index) {
  if (index < STEPS) return (index + 1) * STEP;
  const size_t shift = index / STEPS - 1;
  return ((index % STEPS + STEPS + 1) << shift) * STEP;
}

// Of a block that is not kept: there was no memory for one of its size.
constexpr size_t NO_SIZE = SIZES;

// In front of the memory of a tensor, which begins at a cache line.
struct alignas(STEP) Block {
  Block* next;
  size_t index, bytes, asked;

  void* memory() { return this + 1; }
  static Block* of(void* memory) { return static_cast<Block*>(memory) - 1; }
};

class KeepingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* memory = bytes == 0 ? nullptr : take(bytes);
    if (memory) c10::profiledCPUMemoryReporter().New(memory, bytes);
    return {memory, memory, &give_back, c10::Device(c10::kCPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }

  void copy_data(void* to, const void* from, size_t count) const override { default_copy_data(to, from, count); }

  size_t unused() {
    std::lock_guard lock(mutex_);
    return kept_ + used_ - asked_;
  }

  // Never destroyed: tensors may outlive `main`.
  static KeepingAllocator& only() {
    static auto* it = new KeepingAllocator;
    return *it;
  }

 private:
  static void give_back(void* memory) {
    if (!memory) return;
    c10::profiledCPUMemoryReporter().Delete(memory);
    only().keep(Block::of(memory));
  }

  void* take(size_t bytes) {
    // What no machine has is refused when it is allocated.
    const size_t index = class_of(std::min(bytes, size_t{1} << 50));
    std::lock_guard lock(mutex_);
    auto*& first = free_.at(index);
    Block* block = first;
    if (block) {
      first = block->next;
      kept_ -= block->bytes;
    } else {
      block = fresh(bytes, index);
    }
    block->asked = bytes;
    asked_ += bytes;
    used_ += block->bytes;
    most_used_ = std::max(most_used_, used_);
    return block->memory();
  }

  void keep(Block* block) {
    std::lock_guard lock(mutex_);
    asked_ -= block->asked;
    used_ -= block->bytes;
    if (block->index == NO_SIZE) return c10::free_cpu(block);
    kept_ += block->bytes;
    block->next = std::exchange(free_[block->index], block);
  }

  Block* fresh(size_t asked, size_t index) {
    const size_t bytes = std::max(asked, bytes_of(index));
    // All memory together is at most a quarter more than what was ever in use at a time.
    const size_t most = std::max(most_used_, used_ + bytes);
    keep_at_most(most + most / 4 - (used_ + bytes));
    if (auto* block = allocated(bytes, index)) return block;
    keep_at_most(0);
    if (auto* block = allocated(asked, NO_SIZE)) return block;
    // Says how much was asked for.
    c10::free_cpu(c10::alloc_cpu(asked));
    throw std::bad_alloc();
  }

  static Block* allocated(size_t bytes, size_t index) {
    try {
      return new (c10::alloc_cpu(sizeof(Block) + bytes)) Block{nullptr, index, bytes, 0};
    } catch (const c10::Error&) {
      return nullptr;
    }
  }

  // Frees blocks of other sizes, the largest first.
  void keep_at_most(size_t bytes) {
    for (size_t index = SIZES; index-- > 0;) {
      while (free_[index] && kept_ > bytes) {
        auto* block = std::exchange(free_[index], free_[index]->next);
        kept_ -= block->bytes;
        c10::free_cpu(block);
      }
    }
  }

  std::mutex mutex_;
  std::array<Block*, SIZES> free_{};
  // Bytes: of tensors, of their blocks, of blocks that are free.
  size_t asked_ = 0, used_ = 0, kept_ = 0;
  size_t most_used_ = 0;
};

// Of glibc, for what else frees large memory at every step, such as oneDNN: it would map all of it anew, page by page. Whoever sets the
// thresholds in the environment decides.
bool keep_in_heap() {
#ifdef __GLIBC__
  for (const char* name : {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}) {
    if (std::getenv(name)) return false;
  }
  return mallopt(M_MMAP_THRESHOLD, 1 << 30) && mallopt(M_TRIM_THRESHOLD, INT_MAX);
#else
  return false;
#endif
}

}  // namespace

extern "C" {

// Whether the heap keeps its memory as well.
int hrt_keep_freed_memory() {
  c10::SetCPUAllocator(&KeepingAllocator::only());
  return keep_in_heap();
}

// Bytes that are allocated, and in no tensor.
size_t hrt_unused_memory() { return KeepingAllocator::only().unused(); }

}  // extern "C"
