#include "paceline/checkpoint/format/torch_pickle.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace paceline::checkpoint {
namespace {

using base::PickleError;
using base::PickleValue;
using Kind = PickleValue::Kind;

/// A dtype, as a storage's class and as itself: torch.FloatStorage, torch.float32.
struct NamedDtype {
  std::string_view storage;  ///< "": none
  std::string_view name;
  std::optional<at::ScalarType> type;  ///< nothing: weights never have it
};

constexpr std::array kTorchDtypes{
    NamedDtype{"Double", "float64", at::kDouble},
    NamedDtype{"Float", "float32", at::kFloat},
    NamedDtype{"Half", "float16", at::kHalf},
    NamedDtype{"BFloat16", "bfloat16", at::kBFloat16},
    NamedDtype{"Long", "int64", at::kLong},
    NamedDtype{"Int", "int32", at::kInt},
    NamedDtype{"Short", "int16", at::kShort},
    NamedDtype{"Char", "int8", at::kChar},
    NamedDtype{"Byte", "uint8", at::kByte},
    NamedDtype{"Bool", "bool", at::kBool},
    NamedDtype{"ComplexDouble", "complex128", at::kComplexDouble},
    NamedDtype{"ComplexFloat", "complex64", at::kComplexFloat},
    NamedDtype{"", "complex32", std::nullopt},
    NamedDtype{"", "uint16", at::kUInt16},
    NamedDtype{"", "uint32", at::kUInt32},
    NamedDtype{"", "uint64", at::kUInt64},
    NamedDtype{"", "float8_e4m3fn", std::nullopt},
    NamedDtype{"", "float8_e4m3fnuz", std::nullopt},
    NamedDtype{"", "float8_e5m2", std::nullopt},
    NamedDtype{"", "float8_e5m2fnuz", std::nullopt},
    NamedDtype{"", "float8_e8m0fnu", std::nullopt},
    NamedDtype{"", "float4_e2m1fn_x2", std::nullopt},
    NamedDtype{"QUInt8", "quint8", std::nullopt},
    NamedDtype{"QInt8", "qint8", std::nullopt},
    NamedDtype{"QInt32", "qint32", std::nullopt},
    NamedDtype{"QUInt4x2", "quint4x2", std::nullopt},
    NamedDtype{"QUInt2x4", "quint2x4", std::nullopt},
};

constexpr std::string_view kUntyped = "torch.storage.UntypedStorage";

constexpr std::array<std::string_view, 34> kGlobals{
    "collections.OrderedDict",
    "collections.Counter",
    "torch.nn.parameter.Parameter",
    "torch.serialization._get_layout",
    "torch.Size",
    "torch.Tensor",
    "torch.device",
    "_codecs.encode",
    "builtins.bytearray",
    "builtins.set",
    "builtins.complex",
    "__builtin__.bytearray",
    "__builtin__.set",
    "__builtin__.complex",
    kUntyped,
    "torch.storage.TypedStorage",
    "torch.per_tensor_affine",
    "torch.per_tensor_symmetric",
    "torch.per_channel_affine",
    "torch.per_channel_symmetric",
    "torch.per_channel_affine_float_qparams",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch._utils._rebuild_qtensor",
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_sparse_tensor",
    "torch._utils._rebuild_meta_tensor_no_storage",
    "torch._utils._rebuild_nested_tensor",
    "torch._utils._rebuild_wrapper_subclass",
    "torch._utils._rebuild_device_tensor_from_numpy",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor",
    "torch._tensor._rebuild_from_type_v2",
};

/// What remains of "torch.cuda.FloatStorage" and the like: "Float".
std::string_view storage_name(std::string_view global) {
  constexpr std::string_view kSuffix = "Storage";
  if (!global.starts_with("torch.") || !global.ends_with(kSuffix)) return {};
  global.remove_prefix(6);
  if (global.starts_with("cuda.")) global.remove_prefix(5);
  global.remove_suffix(kSuffix.size());
  return global;
}

const NamedDtype* find_storage(std::string_view global) {
  const std::string_view name = storage_name(global);
  const auto* const found = std::ranges::find(kTorchDtypes, name, &NamedDtype::storage);
  return name.empty() || found == kTorchDtypes.end() ? nullptr : found;
}

const NamedDtype* find_dtype(std::string_view global) {
  if (!global.starts_with("torch.")) return nullptr;
  const auto* const found = std::ranges::find(kTorchDtypes, global.substr(6), &NamedDtype::name);
  return found == kTorchDtypes.end() ? nullptr : found;
}

/// torch.uint1 to uint7 and int1 to int7.
bool is_narrow_int(std::string_view global) {
  for (const std::string_view prefix : {"torch.uint", "torch.int"}) {
    if (global.starts_with(prefix) && global.size() == prefix.size() + 1)
      return global.back() >= '1' && global.back() <= '7';
  }
  return false;
}

bool is_allowed(std::string_view global) {
  return std::ranges::find(kGlobals, global) != kGlobals.end() || find_storage(global) ||
         find_dtype(global) || is_narrow_int(global);
}

[[noreturn]] void fail(const std::string& what) { throw PickleError(what); }

at::ScalarType type_of(const NamedDtype& dtype) {
  if (!dtype.type) fail(fmt::format("its dtype torch.{} is none of weights", dtype.name));
  return *dtype.type;
}

std::int64_t integer(const PickleValue& value) {
  if (value.kind != Kind::kInt || value.integer < 0) fail("it has no size where one is needed");
  return value.integer;
}

std::vector<std::int64_t> integers(const PickleValue& value) {
  const bool is_size =
      value.kind == Kind::kObject && value.text == "torch.Size" && !value.argument->items.empty();
  const PickleValue& list = is_size ? *value.argument->items[0] : value;
  if (list.kind != Kind::kList) fail("it has no sizes where they are needed");
  std::vector<std::int64_t> result;
  for (const PickleValue* item : list.items) result.push_back(integer(*item));
  return result;
}

/// (storage, offset, shape, strides, ...)
TensorReference view_of(const std::vector<const PickleValue*>& arguments) {
  TensorReference tensor;
  tensor.storage = storage_reference(*arguments[0]);
  tensor.dtype = tensor.storage.dtype;
  tensor.offset = integer(*arguments[1]);
  tensor.shape = integers(*arguments[2]);
  tensor.strides = integers(*arguments[3]);
  if (tensor.shape.size() != tensor.strides.size())
    fail(fmt::format("it has {} sizes and {} strides", tensor.shape.size(), tensor.strides.size()));
  return tensor;
}

/// The tensor that a function of torch's makes of these arguments.
std::optional<TensorReference> rebuild(std::string_view function, const PickleValue& argument,
                                       int depth) {
  constexpr int kMostWrappers = 4;
  const auto& arguments = argument.items;
  const auto is = [&](std::string_view name, std::size_t num_arguments) {
    return function == name && arguments.size() >= num_arguments;
  };
  const auto inner = [&](const PickleValue& value) -> std::optional<TensorReference> {
    if (value.kind != Kind::kObject || depth == kMostWrappers) return std::nullopt;
    return rebuild(value.text, *value.argument, depth + 1);
  };
  if (is("torch._utils._rebuild_tensor", 4) || is("torch._utils._rebuild_tensor_v2", 6))
    return view_of(arguments);
  if (is("torch._utils._rebuild_tensor_v3", 7)) {
    TensorReference tensor = view_of(arguments);
    const NamedDtype* const dtype =
        arguments[6]->kind == Kind::kGlobal ? find_dtype(arguments[6]->text) : nullptr;
    if (dtype == nullptr) fail("its dtype is not known");
    tensor.dtype = type_of(*dtype);
    return tensor;
  }
  if (is("torch._utils._rebuild_parameter", 1) ||
      is("torch._utils._rebuild_parameter_with_state", 1) ||
      is("torch._utils._rebuild_device_tensor_from_cpu_tensor", 1) ||
      is("torch.nn.parameter.Parameter", 1))
    return inner(*arguments[0]);
  if (is("torch._tensor._rebuild_from_type_v2", 3) && arguments[0]->kind == Kind::kGlobal)
    return depth == kMostWrappers ? std::nullopt
                                  : rebuild(arguments[0]->text, *arguments[2], depth + 1);
  if (function.starts_with("torch._utils._rebuild_"))
    fail(fmt::format("it is made by {}, and only dense tensors with values are weights", function));
  return std::nullopt;
}

}  // namespace

base::ReadPickle read_torch_pickle(std::span<const std::uint8_t> bytes) {
  return base::read_pickle(
      bytes, {.allows = is_allowed,
              .refusal = ", which weights are not made of and which could run anything: export "
                         "them in Python with torch.save(model.state_dict(), FILE)",
              .has_references = true});
}

StorageReference storage_reference(const PickleValue& value) {
  // ('storage', class, key, location, number of elements[, (key, offset, size) of a view])
  const bool is_reference = value.kind == Kind::kReference && value.argument->items.size() >= 5;
  if (!is_reference) fail("a tensor has no storage");
  const auto& id = value.argument->items;
  if (id[0]->text != "storage" || id[1]->kind != Kind::kGlobal || id[2]->kind != Kind::kString)
    fail("a tensor's storage is described wrongly");
  StorageReference storage;
  storage.key = id[2]->text;
  storage.is_untyped = id[1]->text == kUntyped;
  const NamedDtype* const dtype = find_storage(id[1]->text);
  if (!storage.is_untyped && dtype == nullptr)
    fail(fmt::format("a storage is a {}, which is none", id[1]->text));
  storage.dtype = storage.is_untyped ? at::kByte : type_of(*dtype);
  storage.numel = integer(*id[4]);
  if (id.size() > 5 && id[5]->items.size() == 3) storage.offset = integer(*id[5]->items[1]);
  return storage;
}

std::optional<TensorReference> tensor_reference(const PickleValue& value) {
  if (value.kind != Kind::kObject) return std::nullopt;
  return rebuild(value.text, *value.argument, 0);
}

bool is_dict(const PickleValue& value) {
  return value.kind == Kind::kDict ||
         (value.kind == Kind::kObject && value.text.starts_with("collections."));
}

void visit_values(const PickleValue& root, const std::function<void(const PickleValue&)>& visit) {
  std::unordered_set<const PickleValue*> known{&root};
  std::vector<const PickleValue*> waiting{&root};
  const auto add = [&](const PickleValue* value) {
    if (value != nullptr && known.insert(value).second) waiting.push_back(value);
  };
  while (!waiting.empty()) {
    const PickleValue& value = *waiting.back();
    waiting.pop_back();
    visit(value);
    for (const PickleValue* item : value.items) add(item);
    for (const auto& [key, entry] : value.entries) {
      add(key);
      add(entry);
    }
    add(value.argument);
    add(value.state);
  }
}

}  // namespace paceline::checkpoint
