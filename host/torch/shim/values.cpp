// Converts arguments by the type that the operator's schema asks for, and results back.
#include "values.h"

#include <ATen/core/jit_type.h>

#include <sstream>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

namespace hookrack {
namespace {

using c10::IValue;
using c10::TypeKind;

const char* name_of(Tag tag) {
  switch (tag) {
    case Tag::None: return "none";
    case Tag::Tensor: return "tensor";
    case Tag::Tensors:
    case Tag::List: return "tensor list";
    case Tag::F64: return "float";
    case Tag::I64: return "int";
    case Tag::Bool: return "bool";
    case Tag::Str: return "string";
    case Tag::Ints: return "int list";
    case Tag::Floats: return "float list";
  }
  return "an unknown tag";
}

// Raised inside a conversion; `to_ivalue` turns it into the full message.
struct Mismatch {
  std::string found;
};

[[noreturn]] void mismatch(const Value& value) { throw Mismatch{name_of(value.tag)}; }

std::string_view text_of(const Value& value) {
  if (value.tag != Tag::Str) mismatch(value);
  return {static_cast<const char*>(value.pointer), static_cast<size_t>(value.length)};
}

const at::Tensor& tensor_of(const Value& value) {
  if (value.tag != Tag::Tensor || value.pointer == nullptr) mismatch(value);
  return *static_cast<const at::Tensor*>(value.pointer);
}

template <class Visit>
void each_tensor(const Value& value, Visit&& visit) {
  if (value.tag == Tag::List) {
    for (const auto& tensor : *static_cast<const List*>(value.pointer)) visit(tensor);
  } else if (value.tag == Tag::Tensors) {
    static const at::Tensor undefined;
    auto* const* tensors = static_cast<at::Tensor* const*>(value.pointer);
    for (int64_t i = 0; i < value.length; ++i) visit(tensors[i] ? *tensors[i] : undefined);
  } else {
    mismatch(value);
  }
}

int64_t named_number(const Value& value, const std::unordered_map<std::string_view, int64_t>& names) {
  if (value.tag == Tag::I64) return value.integer;
  auto text = text_of(value);
  auto found = names.find(text);
  if (found == names.end()) throw Mismatch{"the string `" + std::string(text) + "`"};
  return found->second;
}

int64_t scalar_type(const Value& value) {
  using S = at::ScalarType;
  static const std::unordered_map<std::string_view, int64_t> names = {
      {"float32", int64_t(S::Float)},     {"float", int64_t(S::Float)},
      {"float64", int64_t(S::Double)},    {"double", int64_t(S::Double)},
      {"float16", int64_t(S::Half)},      {"half", int64_t(S::Half)},
      {"bfloat16", int64_t(S::BFloat16)}, {"uint8", int64_t(S::Byte)},
      {"int8", int64_t(S::Char)},         {"int16", int64_t(S::Short)},
      {"int32", int64_t(S::Int)},         {"int64", int64_t(S::Long)},
      {"bool", int64_t(S::Bool)},         {"complex64", int64_t(S::ComplexFloat)},
      {"complex128", int64_t(S::ComplexDouble)}};
  return named_number(value, names);
}

int64_t memory_format(const Value& value) {
  using M = at::MemoryFormat;
  static const std::unordered_map<std::string_view, int64_t> names = {
      {"contiguous", int64_t(M::Contiguous)},
      {"preserve", int64_t(M::Preserve)},
      {"channels_last", int64_t(M::ChannelsLast)},
      {"channels_last_3d", int64_t(M::ChannelsLast3d)}};
  return named_number(value, names);
}

int64_t layout(const Value& value) {
  static const std::unordered_map<std::string_view, int64_t> names = {
      {"strided", int64_t(at::kStrided)}, {"sparse_coo", int64_t(at::kSparse)}};
  return named_number(value, names);
}

IValue number(const Value& value) {
  switch (value.tag) {
    case Tag::F64: return IValue(value.real);
    case Tag::I64: return IValue(value.integer);
    case Tag::Bool: return IValue(value.integer != 0);
    default: mismatch(value);
  }
}

double real(const Value& value) {
  if (value.tag == Tag::I64) return static_cast<double>(value.integer);
  if (value.tag != Tag::F64) mismatch(value);
  return value.real;
}

int64_t integer(const Value& value) {
  if (value.tag != Tag::I64) mismatch(value);
  return value.integer;
}

bool boolean(const Value& value) {
  if (value.tag != Tag::Bool) mismatch(value);
  return value.integer != 0;
}

// `int[2] stride` also takes one int, which counts for both.
IValue ints(const Value& value, const std::optional<int32_t>& repeat) {
  if (value.tag == Tag::I64 && repeat) {
    return IValue(std::vector<int64_t>(static_cast<size_t>(*repeat), value.integer));
  }
  if (value.tag != Tag::Ints) mismatch(value);
  auto* first = static_cast<const int64_t*>(value.pointer);
  return IValue(c10::ArrayRef<int64_t>(first, static_cast<size_t>(value.length)).vec());
}

IValue floats(const Value& value) {
  if (value.tag != Tag::Floats) mismatch(value);
  auto* first = static_cast<const double*>(value.pointer);
  return IValue(c10::ArrayRef<double>(first, static_cast<size_t>(value.length)).vec());
}

IValue bools(const Value& value) {
  if (value.tag != Tag::Ints) mismatch(value);
  c10::List<bool> list;
  for (int64_t i = 0; i < value.length; ++i) {
    list.push_back(static_cast<const int64_t*>(value.pointer)[i] != 0);
  }
  return IValue(std::move(list));
}

IValue numbers(const Value& value) {
  c10::impl::GenericList list(c10::NumberType::get());
  for (int64_t i = 0; i < value.length; ++i) {
    if (value.tag == Tag::Floats) {
      list.push_back(static_cast<const double*>(value.pointer)[i]);
    } else if (value.tag == Tag::Ints) {
      list.push_back(static_cast<const int64_t*>(value.pointer)[i]);
    } else {
      mismatch(value);
    }
  }
  return IValue(std::move(list));
}

IValue tensors(const Value& value) {
  c10::List<at::Tensor> list;
  each_tensor(value, [&](const at::Tensor& tensor) { list.push_back(tensor); });
  return IValue(std::move(list));
}

IValue optional_tensors(const Value& value) {
  c10::List<std::optional<at::Tensor>> list;
  each_tensor(value, [&](const at::Tensor& tensor) {
    list.push_back(tensor.defined() ? std::make_optional(tensor) : std::nullopt);
  });
  return IValue(std::move(list));
}

IValue list_of(const Value& value, const c10::Type& element, const std::optional<int32_t>& repeat) {
  switch (element.kind()) {
    case TypeKind::TensorType: return tensors(value);
    case TypeKind::OptionalType: return optional_tensors(value);
    case TypeKind::IntType:
    case TypeKind::SymIntType: return ints(value, repeat);
    case TypeKind::FloatType: return floats(value);
    case TypeKind::BoolType: return bools(value);
    case TypeKind::NumberType: return numbers(value);
    default: mismatch(value);
  }
}

IValue convert(const Value& value, const c10::Type& type, const std::optional<int32_t>& repeat) {
  switch (type.kind()) {
    case TypeKind::OptionalType:
      if (value.tag == Tag::None) return IValue();
      return convert(value, *type.castRaw<c10::OptionalType>()->getElementType(), repeat);
    case TypeKind::TensorType: return IValue(tensor_of(value));
    case TypeKind::NumberType: return number(value);
    case TypeKind::FloatType: return IValue(real(value));
    case TypeKind::IntType:
    case TypeKind::SymIntType: return IValue(integer(value));
    case TypeKind::BoolType: return IValue(boolean(value));
    case TypeKind::StringType: return IValue(std::string(text_of(value)));
    case TypeKind::DeviceObjType: return IValue(c10::Device(std::string(text_of(value))));
    case TypeKind::ScalarTypeType: return IValue(scalar_type(value));
    case TypeKind::MemoryFormatType: return IValue(memory_format(value));
    case TypeKind::LayoutType: return IValue(layout(value));
    case TypeKind::ListType:
      return list_of(value, *type.castRaw<c10::ListType>()->getElementType(), repeat);
    default: mismatch(value);
  }
}

}  // namespace

IValue to_ivalue(const Value& value, const c10::Argument& argument, size_t position,
                 const std::string& op) {
  try {
    return convert(value, *argument.real_type(), argument.N());
  } catch (const Mismatch& wrong) {
    std::ostringstream text;
    text << op << ": argument " << position << " `" << argument.name() << "` wants "
         << argument.real_type()->str() << ", found " << wrong.found;
    throw std::runtime_error(text.str());
  }
}

Value from_ivalue(const IValue& result, const std::string& op) {
  Value value{};
  if (result.isTensor()) {
    value.tag = Tag::Tensor;
    value.pointer = new at::Tensor(result.toTensor());
  } else if (result.isTensorList()) {
    value.tag = Tag::List;
    value.pointer = new List(result.toTensorVector());
  } else if (result.isDouble()) {
    value.tag = Tag::F64;
    value.real = result.toDouble();
  } else if (result.isInt()) {
    value.tag = Tag::I64;
    value.integer = result.toInt();
  } else if (result.isBool()) {
    value.tag = Tag::Bool;
    value.integer = result.toBool();
  } else if (!result.isNone()) {
    throw std::runtime_error(op + ": a result of type " + result.tagKind() + " is not supported");
  }
  return value;
}

void free_value(Value& value) noexcept {
  if (value.tag == Tag::Tensor) delete static_cast<at::Tensor*>(value.pointer);
  if (value.tag == Tag::List) delete static_cast<List*>(value.pointer);
  value = Value{};
}

}  // namespace hookrack
