// What the files about several processes share.
#pragma once

#include "shim.h"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace hookrack {

// A store and a process group are reference counted by libtorch; Rust holds one reference to each.
struct Store {
  c10::intrusive_ptr<c10d::Store> it;
};

struct Group {
  c10::intrusive_ptr<c10d::ProcessGroup> it;
};

}  // namespace hookrack
