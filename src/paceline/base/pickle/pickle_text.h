#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::base {

/// How pickles spell strings and integers. Nothing is returned for what they do not spell so.

/// A string as Python's repr() gives it, in quotes.
std::optional<std::string> unquote_python(std::string_view quoted);
/// Bytes of Latin-1 with \uXXXX and \UXXXXXXXX in between, as UTF-8.
std::optional<std::string> decode_raw_unicode(std::string_view line);
/// The bytes whose characters of Latin-1 these are.
std::optional<std::string> encode_latin1(std::string_view utf8);

/// A decimal integer, with or without the `L` of a long one; nothing also if it has more than 64
/// bits.
std::optional<std::int64_t> parse_decimal(std::string_view digits);
/// A signed little-endian integer; nothing if it has more than 64 bits.
std::optional<std::int64_t> parse_little_endian(std::string_view bytes);

}  // namespace paceline::base
