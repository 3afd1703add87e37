#pragma once

#include "paceline/base/error.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::data {

/// The bytes of a file of a simple format, which never gives one that is not there.
class ByteSource {
 public:
  /// `format` is for messages.
  ByteSource(std::span<const std::uint8_t> bytes, const char* format)
      : bytes_(bytes), format_(format) {}

  [[noreturn]] void fail(const char* problem) const {
    throw base::DataError(fmt::format("damaged {}: {}", format_, problem));
  }
  std::size_t size() const { return bytes_.size(); }
  /// Throws DataError if some of them are not there.
  std::span<const std::uint8_t> part(std::uint64_t offset, std::uint64_t count) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset)
      fail("truncated: the file ends before its pixels do");
    return bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
  }
  /// A little-endian number of up to four bytes.
  std::uint32_t number(std::uint64_t offset, int count) const {
    std::uint32_t value = 0;
    const auto digits = part(offset, static_cast<std::uint64_t>(count));
    for (std::size_t i = digits.size(); i-- > 0;) value = value << 8 | digits[i];
    return value;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  const char* format_;
};

}  // namespace paceline::data
