#include "paceline/data/sources/imagenet/mat_file.h"

#include "paceline/base/error.h"
#include "paceline/data/formats/inflate.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace paceline::data {
namespace {

constexpr std::size_t kHeaderBytes = 128;
constexpr std::size_t kMaxInflatedBytes = std::size_t{1} << 30;
constexpr int kMaxMatDepth = 16;

enum MatType : std::uint32_t {
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kSingle = 7,
  kDouble = 9,
  kInt64 = 12,
  kUint64 = 13,
  kMatrix = 14,
  kCompressed = 15,
  kUtf8 = 16,
  kUtf16 = 17,
};

enum MatClass : std::uint8_t {
  kCellClass = 1,
  kStructClass = 2,
  kCharClass = 4,
  kFirstNumericClass = 6,  // double
  kLastNumericClass = 15,  // uint64
};

/// One tagged piece of the file.
struct MatElement {
  std::uint32_t type = 0;
  std::span<const std::uint8_t> body;
};

template <class T>
std::vector<double> as_doubles(std::span<const std::uint8_t> body) {
  std::vector<double> values;
  values.reserve(body.size() / sizeof(T));
  for (std::size_t i = 0; i + sizeof(T) <= body.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, body.data() + i, sizeof(T));
    values.push_back(static_cast<double>(value));
  }
  return values;
}

/// Reads elements one after the other.
class MatReader {
 public:
  MatReader(std::span<const std::uint8_t> bytes, const std::string& name)
      : rest_(bytes), name_(name) {}

  bool is_at_end() const { return rest_.empty(); }

  MatElement next() {
    const std::uint32_t first = take_number();
    if (first >> 16 != 0) {  // a small element holds up to four bytes in its tag
      const std::size_t size = first >> 16;
      if (size > 4) fail("a small element is larger than four bytes");
      return {first & 0xFFFF, take(4).first(size)};
    }
    const std::size_t size = take_number();
    MatElement element{first, take(size)};
    if (first != kCompressed) take(std::min((8 - size % 8) % 8, rest_.size()));
    return element;
  }

  MatElement next_of(std::uint32_t type) {
    const MatElement element = next();
    if (element.type != type) {
      fail(fmt::format("an element of type {} instead of {}", element.type, type));
    }
    return element;
  }

  /// The numbers of the next element, however they are stored.
  std::vector<double> next_numbers() {
    const MatElement element = next();
    switch (element.type) {
      case kInt8:
        return as_doubles<std::int8_t>(element.body);
      case kUint8:
      case kUtf8:
        return as_doubles<std::uint8_t>(element.body);
      case kInt16:
        return as_doubles<std::int16_t>(element.body);
      case kUint16:
      case kUtf16:
        return as_doubles<std::uint16_t>(element.body);
      case kInt32:
        return as_doubles<std::int32_t>(element.body);
      case kUint32:
        return as_doubles<std::uint32_t>(element.body);
      case kSingle:
        return as_doubles<float>(element.body);
      case kDouble:
        return as_doubles<double>(element.body);
      case kInt64:
        return as_doubles<std::int64_t>(element.body);
      case kUint64:
        return as_doubles<std::uint64_t>(element.body);
      default:
        fail(fmt::format("numbers of type {}", element.type));
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw base::DataError(
        fmt::format("{}: damaged MATLAB file: {}; fetch or extract it again", name_, problem));
  }

 private:
  std::span<const std::uint8_t> take(std::size_t size) {
    if (size > rest_.size()) fail("it ends early");
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  std::uint32_t take_number() {
    std::uint32_t value = 0;
    std::memcpy(&value, take(4).data(), 4);
    return value;
  }

  std::span<const std::uint8_t> rest_;
  const std::string& name_;
};

/// The body of a matrix element.
class MatrixParser {
 public:
  MatrixParser(std::span<const std::uint8_t> body, const std::string& name, int depth)
      : reader_(body, name), file_(name), depth_(depth) {
    if (depth > kMaxMatDepth) reader_.fail("arrays are nested too deep");
  }

  /// The array and its variable's name, which is empty inside of structs and cells.
  std::pair<std::string, MatArray> parse() {
    MatArray array;
    const MatElement flags = reader_.next_of(kUint32);
    if (flags.body.empty()) reader_.fail("an array without a class");
    const std::uint8_t kind = flags.body[0];
    std::int64_t count = 1;
    for (const double side : reader_.next_numbers()) {
      if (side < 0 || side > 1e9 || static_cast<double>(count) * side > 1e9) {
        reader_.fail("an array's size makes no sense");
      }
      array.shape.push_back(static_cast<std::int64_t>(side));
      count *= array.shape.back();
    }
    const std::span<const std::uint8_t> name = reader_.next_of(kInt8).body;
    if (kind == kCellClass) {
      for (std::int64_t i = 0; i < count; ++i) array.cells.push_back(parse_inner());
    } else if (kind == kStructClass) {
      parse_fields(array, count);
    } else if (kind == kCharClass) {
      for (const double letter : reader_.next_numbers()) {
        array.text += letter >= 0 && letter < 128 ? static_cast<char>(letter) : '?';
      }
    } else if (kind >= kFirstNumericClass && kind <= kLastNumericClass) {
      array.numbers = reader_.next_numbers();
    }
    return {std::string(name.begin(), name.end()), std::move(array)};
  }

 private:
  MatArray parse_inner() {
    const MatElement element = reader_.next_of(kMatrix);
    if (element.body.empty()) return {};
    return MatrixParser(element.body, file_, depth_ + 1).parse().second;
  }

  void parse_fields(MatArray& array, std::int64_t count) {
    const std::vector<double> lengths = reader_.next_numbers();
    if (lengths.empty() || lengths[0] < 1 || lengths[0] > 256) {
      reader_.fail("a struct's field names have no length");
    }
    const auto length = static_cast<std::size_t>(lengths[0]);
    const std::span<const std::uint8_t> names = reader_.next_of(kInt8).body;
    std::vector<std::string> fields;
    for (std::size_t at = 0; at + length <= names.size(); at += length) {
      const auto* const first = reinterpret_cast<const char*>(names.data() + at);
      fields.emplace_back(first, strnlen(first, length));
    }
    if (fields.empty()) return;  // else a damaged count would let us loop for long
    for (std::int64_t i = 0; i < count; ++i) {
      for (const std::string& field : fields) array.fields[field].push_back(parse_inner());
    }
  }

  MatReader reader_;
  const std::string& file_;
  int depth_;
};

}  // namespace

std::map<std::string, MatArray> read_mat_file(std::span<const std::uint8_t> bytes,
                                              const std::string& name) {
  if (bytes.size() < kHeaderBytes || bytes[126] != 'I' || bytes[127] != 'M') {
    throw base::DataError(
        fmt::format("{}: not a little-endian MATLAB file of version 5 to 7", name));
  }
  std::map<std::string, MatArray> variables;
  MatReader reader(bytes.subspan(kHeaderBytes), name);
  while (!reader.is_at_end()) {
    MatElement element = reader.next();
    std::vector<std::uint8_t> inflated;
    if (element.type == kCompressed) {
      inflated = inflate_bytes(element.body, kMaxInflatedBytes, name);
      element = MatReader(inflated, name).next();
    }
    if (element.type != kMatrix || element.body.empty()) continue;
    variables.insert(MatrixParser(element.body, name, 0).parse());
  }
  return variables;
}

}  // namespace paceline::data
