// What every function of the shim shares: nothing throws into Rust, and lists of tensors are one type.
//
// A function that can fail returns `char*`: null, or a message. The others are `noexcept`: they read a
// field, or fail only when memory is out, which ends the process as it does in Rust.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <vector>

namespace hookrack {

using List = std::vector<at::Tensor>;

// Runs `body`; gives null on success, else a message that Rust frees with `hrt_free_message`.
// An exception that crossed `extern "C"` would end the process.
template <class Body>
char* guarded(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const c10::Error& error) {
    return strdup(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return strdup(error.what());
  } catch (...) {
    return strdup("a C++ exception of unknown type");
  }
}

}  // namespace hookrack
