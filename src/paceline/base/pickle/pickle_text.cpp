#include "paceline/base/pickle/pickle_text.h"

#include <charconv>
#include <cstring>

namespace paceline::base {
namespace {

/// The value of so many hexadecimal digits at the start.
std::optional<std::uint32_t> take_hex(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  std::uint32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + count, value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + count) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

bool append_utf8(std::string& text, std::uint32_t point) {
  const auto add = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto add_follow = [&](int shift) { add(0x80u | ((point >> shift) & 0x3fu)); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xc0u | (point >> 6));
    add_follow(0);
  } else if (point < 0x10000) {
    add(0xe0u | (point >> 12));
    add_follow(6);
    add_follow(0);
  } else if (point < 0x110000) {
    add(0xf0u | (point >> 18));
    add_follow(12);
    add_follow(6);
    add_follow(0);
  } else {
    return false;
  }
  return true;
}

/// What stands behind a backslash, which is taken.
std::optional<char> take_escaped(std::string_view& text) {
  constexpr std::string_view kNames = "ntrabfv0\\'\"";
  constexpr std::string_view kMeanings("\n\t\r\a\b\f\v\0\\'\"", 11);
  if (text.empty()) return std::nullopt;
  const char name = text.front();
  text.remove_prefix(1);
  if (name == 'x') {
    const auto value = take_hex(text, 2);
    return value ? std::optional(static_cast<char>(*value)) : std::nullopt;
  }
  const std::size_t found = kNames.find(name);
  return found == std::string_view::npos ? std::nullopt : std::optional(kMeanings[found]);
}

}  // namespace

std::optional<std::string> unquote_python(std::string_view quoted) {
  if (quoted.size() < 2 || (quoted.front() != '\'' && quoted.front() != '"') ||
      quoted.back() != quoted.front())
    return std::nullopt;
  std::string_view rest = quoted.substr(1, quoted.size() - 2);
  std::string text;
  while (!rest.empty()) {
    const char next = rest.front();
    rest.remove_prefix(1);
    if (next != '\\') {
      text.push_back(next);
      continue;
    }
    const auto escaped = take_escaped(rest);
    if (!escaped) return std::nullopt;
    text.push_back(*escaped);
  }
  return text;
}

std::optional<std::string> decode_raw_unicode(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const auto next = static_cast<std::uint8_t>(line.front());
    line.remove_prefix(1);
    const bool is_escape = next == '\\' && (line.starts_with('u') || line.starts_with('U'));
    if (!is_escape) {
      append_utf8(text, next);
      continue;
    }
    const std::size_t count = line.front() == 'u' ? 4 : 8;
    line.remove_prefix(1);
    const auto point = take_hex(line, count);
    if (!point || !append_utf8(text, *point)) return std::nullopt;
  }
  return text;
}

std::optional<std::string> encode_latin1(std::string_view utf8) {
  std::string bytes;
  bytes.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<std::uint8_t>(utf8[i]);
    if (lead < 0x80) {
      bytes.push_back(utf8[i]);
    } else if ((lead == 0xc2 || lead == 0xc3) && i + 1 < utf8.size()) {
      const auto follow = static_cast<std::uint8_t>(utf8[++i]);
      bytes.push_back(static_cast<char>(((lead & 3u) << 6) | (follow & 0x3fu)));
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

std::optional<std::int64_t> parse_decimal(std::string_view digits) {
  if (digits.ends_with('L')) digits.remove_suffix(1);
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_little_endian(std::string_view bytes) {
  if (bytes.size() > 8) return std::nullopt;
  if (bytes.empty()) return 0;
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), bytes.size());
  const int unused = 64 - 8 * static_cast<int>(bytes.size());
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

}  // namespace paceline::base
