#include "paceline/data/formats/numpy_pickle.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace paceline::data {
namespace {

using base::PickleValue;
using Kind = PickleValue::Kind;

constexpr std::array<std::string_view, 7> kGlobals{"numpy.core.multiarray._reconstruct",
                                                   "numpy._core.multiarray._reconstruct",
                                                   "numpy.core.numeric._frombuffer",
                                                   "numpy._core.numeric._frombuffer",
                                                   "numpy.ndarray",
                                                   "numpy.dtype",
                                                   "_codecs.encode"};

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw base::DataError(fmt::format("{}: {}", name, what));
}

/// What an array is made of, wherever a protocol keeps it.
struct ArrayParts {
  const PickleValue& shape;
  const PickleValue& dtype;
  const PickleValue& bytes;
  bool is_fortran;
};

ArrayParts parts_of(const PickleValue& value, const std::string& name) {
  if (value.kind == Kind::kObject) {
    const auto& arguments = value.argument->items;
    if (value.text.ends_with("._frombuffer") && arguments.size() == 4)  // protocol 5
      return {*arguments[2], *arguments[1], *arguments[0], arguments[3]->text == "F"};
    // (version, shape, dtype, is Fortran order, bytes)
    if (value.text.ends_with("._reconstruct") && value.state && value.state->items.size() == 5) {
      const auto& state = value.state->items;
      return {*state[1], *state[2], *state[4], state[3]->integer != 0};
    }
  }
  fail(name, "an array has an unknown state");
}

std::string_view dtype_of(const PickleValue& value, const std::string& name) {
  const bool is_dtype = value.kind == Kind::kObject && value.text == "numpy.dtype" &&
                        !value.argument->items.empty() &&
                        value.argument->items[0]->kind == Kind::kString;
  if (!is_dtype) fail(name, "an array has an unknown state");
  if (value.state && value.state->items.size() > 1 && value.state->items[1]->text == ">")
    fail(name, "its numbers are big endian");
  return value.argument->items[0]->text;
}

}  // namespace

std::shared_ptr<const PickleValue> read_numpy_pickle(std::span<const std::uint8_t> bytes,
                                                     const std::string& name) {
  const base::PickleRules rules{
      .allows = [](std::string_view global) { return std::ranges::count(kGlobals, global) > 0; },
      .refusal = ", which is neither plain data nor a NumPy array"};
  try {
    return base::read_pickle(bytes, rules).value;
  } catch (const base::PickleError& error) {
    fail(name, error.what());
  }
}

PickledArray pickled_array(const PickleValue& value, const std::string& name) {
  const ArrayParts parts = parts_of(value, name);
  PickledArray array{dtype_of(parts.dtype, name), {}, parts.bytes.text};
  if (parts.shape.kind != Kind::kList || parts.bytes.kind != Kind::kString)
    fail(name, "an array has an unknown state");
  const char size = array.dtype.size() == 2 ? array.dtype[1] : '0';
  std::uint64_t expected = size >= '1' && size <= '8' ? static_cast<std::uint64_t>(size - '0') : 0;
  for (const PickleValue* side : parts.shape.items) {
    const bool is_size =
        side->kind == Kind::kInt && side->integer >= 0 && side->integer <= (std::int64_t{1} << 40);
    if (!is_size ||
        __builtin_mul_overflow(expected, static_cast<std::uint64_t>(side->integer), &expected))
      fail(name, "an array has an impossible shape");
    array.shape.push_back(side->integer);
  }
  if (expected != array.bytes.size())
    fail(name, fmt::format("an array of type '{}' has {} bytes, its shape asks for {}", array.dtype,
                           array.bytes.size(), expected));
  if (parts.is_fortran && array.shape.size() > 1) fail(name, "an array is in Fortran order");
  return array;
}

}  // namespace paceline::data
