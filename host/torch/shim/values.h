// How one argument or result of an operator crosses the boundary, and its way into and out of an IValue.
#pragma once

#include "shim.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <string>

namespace hookrack {

// The same numbers stand in `host/torch/src/value.rs`.
enum class Tag : int32_t {
  None = 0,
  Tensor = 1,    // pointer: at::Tensor*
  Tensors = 2,   // pointer: at::Tensor* const*, length
  List = 3,      // pointer: hookrack::List*
  F64 = 4,       // real
  I64 = 5,       // integer
  Bool = 6,      // integer
  Str = 7,       // pointer: char*, length
  Ints = 8,      // pointer: int64_t*, length
  Floats = 9,    // pointer: double*, length
};

struct Value {
  Tag tag;
  int32_t reserved;
  int64_t integer;
  double real;
  void* pointer;
  int64_t length;
};

// An argument as the schema wants it; throws a message that names the operator and the argument.
c10::IValue to_ivalue(const Value& value, const c10::Argument& argument, size_t position,
                      const std::string& op);

// A result with handles of its own; `free_value` gives them back.
Value from_ivalue(const c10::IValue& result, const std::string& op);
void free_value(Value& value) noexcept;

}  // namespace hookrack
