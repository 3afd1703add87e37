#include "paceline/data/formats/npy_file.h"

#include "paceline/base/error.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

namespace paceline::data {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";

[[noreturn]] void refuse_npy(const std::string& name, const std::string& problem) {
  throw base::DataError(fmt::format("{}: {}", name, problem));
}

/// The Python dict of the header: {'descr': '<i8', 'fortran_order': False, 'shape': (3, 4), }
class NpyHeader {
 public:
  NpyHeader(std::string_view text, const std::string& name) : rest_(text), name_(name) {
    expect('{');
    while (!accept('}')) {
      const std::string key = take_string();
      expect(':');
      if (key == "descr") {
        if (peek() != '\'') {
          refuse_npy(name_, "has fields with names; save one plain array of numbers");
        }
        descr = take_string();
      } else if (key == "fortran_order") {
        fortran_order = take_word() == "True";
      } else if (key == "shape") {
        take_shape();
      } else {
        fail();
      }
      accept(',');
    }
  }

  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

 private:
  [[noreturn]] void fail() const { refuse_npy(name_, "the header of the .npy file is damaged"); }

  char peek() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail();
  }
  std::string take_string() {
    expect('\'');
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) fail();
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string_view take_word() {
    peek();
    const std::string_view word = rest_.substr(0, rest_.find_first_of(",}"));
    rest_.remove_prefix(word.size());
    if (word != "True" && word != "False") fail();
    return word;
  }
  void take_shape() {
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t side = 0;
      const auto [behind, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), side);
      if (error != std::errc() || side < 0) fail();
      rest_.remove_prefix(static_cast<std::size_t>(behind - rest_.data()));
      shape.push_back(side);
      accept(',');
    }
  }

  std::string_view rest_;
  const std::string& name_;
};

/// The header's text and what lies behind it.
std::pair<std::string_view, std::string_view> split_npy(std::string_view file,
                                                        const std::string& name) {
  if (!file.starts_with(kNpyMagic) || file.size() < 12) refuse_npy(name, "not a .npy file");
  const int version = static_cast<unsigned char>(file[6]);
  if (version < 1 || version > 3) {
    refuse_npy(name, fmt::format("a .npy file of version {}, expected 1 to 3", version));
  }
  std::uint32_t length = 0;
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::memcpy(&length, file.data() + 8, length_bytes);
  const std::string_view rest = file.substr(8 + length_bytes);
  if (length > rest.size()) refuse_npy(name, "is cut short within its header");
  return {rest.substr(0, length), rest.substr(length)};
}

void set_type(NpyArray& array, const std::string& descr) {
  if (descr.ends_with('O'))
    refuse_npy(array.name,
               "holds Python's objects, which NumPy alone can read; save one plain array "
               "of numbers");
  const bool is_short =
      descr.size() == 3 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  array.kind = is_short ? descr[1] : ' ';
  array.item_size = is_short ? descr[2] - '0' : 0;
  const std::string_view sizes = array.kind == 'f' ? "248" : "1248";
  if (std::string_view("uif").find(array.kind) == std::string_view::npos ||
      sizes.find(descr[2]) == std::string_view::npos) {
    refuse_npy(array.name,
               fmt::format("holds values of type '{}', expected integers or floats", descr));
  }
  if (descr[0] == '>' && array.item_size > 1) {
    refuse_npy(array.name, fmt::format("holds big-endian values ('{}'); save them by "
                                       "array.astype('<{}')",
                                       descr, descr.substr(1)));
  }
}

template <class T>
std::vector<std::int64_t> widen(const NpyArray& array) {
  std::vector<std::int64_t> values(array.bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, array.bytes.data() + i * sizeof(T), sizeof(T));
    if (!std::in_range<std::int64_t>(value)) {
      refuse_npy(array.name, fmt::format("value {} is too large: {}", i, value));
    }
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): an int8_t is a number here, no letter
    values[i] = static_cast<std::int64_t>(value);
  }
  return values;
}

}  // namespace

NpyArray open_npy(const std::filesystem::path& path) {
  NpyArray array;
  array.name = path.string();
  try {
    array.owner = std::make_shared<const base::MappedFile>(path);
  } catch (const base::FileError& error) {
    throw base::DataError(error.what());
  }
  const auto [text, values] = split_npy(array.owner->bytes(), array.name);
  NpyHeader header(text, array.name);
  set_type(array, header.descr);
  if (header.fortran_order && header.shape.size() > 1) {
    refuse_npy(
        array.name,
        "is in Fortran's order; save it by numpy.save(file, numpy.ascontiguousarray(array))");
  }
  array.shape = header.shape;
  constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max();
  std::int64_t size = array.item_size;
  for (const std::int64_t side : array.shape) {
    if (side != 0 && size > kLimit / side) refuse_npy(array.name, "its shape makes no sense");
    size *= side;
  }
  if (static_cast<std::uint64_t>(size) > values.size()) {
    refuse_npy(array.name,
               fmt::format("is cut short: {} bytes of values, expected {} for shape ({})",
                           values.size(), size, fmt::join(array.shape, ", ")));
  }
  array.bytes = {reinterpret_cast<const std::uint8_t*>(values.data()),
                 static_cast<std::size_t>(size)};
  return array;
}

void require_integers(const NpyArray& array) {
  if (array.kind != 'f') return;
  refuse_npy(array.name,
             fmt::format("holds floating-point values ('<f{}'); save integers, images by "
                         "array.astype('uint8')",
                         array.item_size));
}

std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape) {
  constexpr std::size_t kAlignment = 64;  // of the values in the file
  constexpr std::size_t kPreamble = 10;   // magic, version, length
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 descr, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  dict.append(kAlignment - 1 - (kPreamble + dict.size()) % kAlignment, ' ');
  dict += '\n';
  std::string header(kNpyMagic);
  header +=
      {'\1', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

std::vector<std::int64_t> npy_integers(const NpyArray& array) {
  require_integers(array);
  const bool is_signed = array.kind == 'i';
  switch (array.item_size) {
    case 1:
      return is_signed ? widen<std::int8_t>(array) : widen<std::uint8_t>(array);
    case 2:
      return is_signed ? widen<std::int16_t>(array) : widen<std::uint16_t>(array);
    case 4:
      return is_signed ? widen<std::int32_t>(array) : widen<std::uint32_t>(array);
    default:
      return is_signed ? widen<std::int64_t>(array) : widen<std::uint64_t>(array);
  }
}

}  // namespace paceline::data
