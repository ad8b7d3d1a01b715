// Any operator by name: its schema is found once, then called boxed through libtorch's dispatcher.
#include "values.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace hookrack {

struct Op {
  c10::OperatorHandle handle;
  std::string name;
};

namespace {

c10::OperatorName split_name(const std::string& name) {
  auto dot = name.find('.');
  if (dot == std::string::npos) return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

[[noreturn]] void not_found(const std::string& name) {
  auto wanted = split_name(name).name;
  std::vector<std::string> overloads;
  for (const auto& known : c10::Dispatcher::singleton().getAllOpNames()) {
    if (known.name == wanted) overloads.push_back(c10::toString(known));
  }
  std::sort(overloads.begin(), overloads.end());
  std::ostringstream text;
  text << "no operator named `" << name << "`";
  if (overloads.empty()) {
    text << " in this libtorch: names look like `aten::lerp_.Scalar`";
  } else {
    text << "; its overloads are";
    for (const auto& overload : overloads) text << " " << overload;
  }
  throw std::runtime_error(text.str());
}

Op* find(const std::string& name) {
  auto handle = c10::Dispatcher::singleton().findSchema(split_name(name));
  if (!handle) not_found(name);
  return new Op{*handle, name};
}

torch::jit::Stack arguments(const Op& op, const Value* args, size_t count) {
  const auto& wanted = op.handle.schema().arguments();
  if (count > wanted.size()) {
    std::ostringstream text;
    text << op.name << ": takes " << wanted.size() << " arguments, found " << count;
    throw std::runtime_error(text.str());
  }
  torch::jit::Stack stack;
  stack.reserve(wanted.size());
  for (size_t i = 0; i < count; ++i) stack.push_back(to_ivalue(args[i], wanted[i], i, op.name));
  for (size_t i = count; i < wanted.size(); ++i) {
    if (!wanted[i].default_value()) {
      std::ostringstream text;
      text << op.name << ": argument " << i << " `" << wanted[i].name() << "` ("
           << wanted[i].real_type()->str() << ") is missing and has no default";
      throw std::runtime_error(text.str());
    }
    stack.push_back(*wanted[i].default_value());
  }
  return stack;
}

void results(const Op& op, const torch::jit::Stack& stack, Value* out, size_t room) {
  size_t made = 0;
  try {
    for (; made < std::min(stack.size(), room); ++made) out[made] = from_ivalue(stack[made], op.name);
  } catch (...) {
    for (size_t i = 0; i < made; ++i) free_value(out[i]);
    throw;
  }
}

}  // namespace
}  // namespace hookrack

using namespace hookrack;

extern "C" {

char* hrt_op_find(const char* name, size_t length, Op** out) {
  return guarded([&] { *out = find(std::string(name, length)); });
}

void hrt_op_free(Op* op) noexcept { delete op; }

size_t hrt_op_arguments(const Op* op) noexcept { return op->handle.schema().arguments().size(); }

size_t hrt_op_returns(const Op* op) noexcept { return op->handle.schema().returns().size(); }

// What a call does to its arguments, a bit for each: which of them it writes to, which of them share memory with a result;
// and whether it can give a tensor other memory or another shape.
void hrt_op_effects(const Op* op, uint64_t* written, uint64_t* shared, int* moves) noexcept {
  const auto& arguments = op->handle.schema().arguments();
  *written = *shared = 0;
  *moves = op->handle.hasTag(at::Tag::inplace_view) || op->name.rfind("aten::set_", 0) == 0 ||
           op->name.rfind("aten::resize", 0) == 0 || op->name.rfind("aten::_resize", 0) == 0;
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), 64); ++i) {
    const auto* alias = arguments[i].alias_info();
    if (!alias) continue;
    *shared |= uint64_t{1} << i;
    if (alias->isWrite()) *written |= uint64_t{1} << i;
    if (arguments[i].is_out()) *moves = 1;
  }
}

// What a tensor's memory is known by; 0 if it has none.
uintptr_t hrt_tensor_storage(const at::Tensor* tensor) noexcept {
  if (!tensor->defined() || !tensor->has_storage()) return 0;
  return reinterpret_cast<uintptr_t>(tensor->storage().unsafeGetStorageImpl());
}

char* hrt_op_schema(const Op* op, char** out) {
  return guarded([&] { *out = strdup(c10::toString(op->handle.schema()).c_str()); });
}

// Writes at most `room` results; the rest are dropped. On failure nothing is written.
char* hrt_op_call(const Op* op, const Value* args, size_t count, Value* out, size_t room) {
  return guarded([&] {
    auto stack = arguments(*op, args, count);
    op->handle.callBoxed(stack);
    results(*op, stack, out, room);
  });
}

void hrt_value_free(Value* value) noexcept { free_value(*value); }

}  // extern "C"
