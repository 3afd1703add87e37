#include "paceline/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace paceline::base {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";

std::string comparable(std::string_view name) {
  std::string lower = to_lower(name);
  std::replace(lower.begin(), lower.end(), '-', '_');
  return lower;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != text.npos; begin = end + 1) {
    parts.emplace_back(text.substr(begin, end - begin));
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::string join_first(std::span<const std::string> parts, std::size_t most) {
  if (parts.size() <= most) return join(parts, ", ");
  return fmt::format("{} and {} more", join(parts.first(most), ", "), parts.size() - most);
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = byte(i);
    const std::size_t length = first < 0x80                     ? 1
                               : first >= 0xc2 && first <= 0xdf ? 2
                               : (first & 0xf0) == 0xe0         ? 3
                               : first >= 0xf0 && first <= 0xf4 ? 4
                                                                : 0;
    if (length == 0) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    }
    // Longer than need be, the halves of UTF-16's pairs, and beyond the last character.
    const unsigned second = byte(i + 1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) {
      return i;
    }
    i += length;
  }
  return std::nullopt;
}

std::string excerpt(std::string_view text, std::size_t longest) {
  std::string line;
  for (const char c : text) {
    if (line.size() >= longest) {
      while (!line.empty() && find_invalid_utf8(line)) line.pop_back();  // a character that was cut
      return line + "...";
    }
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=:,@%+").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string with_bare_urls(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t scheme = text.find("://");
    const std::size_t begin =
        std::min(scheme == std::string_view::npos ? scheme : scheme + 3, text.size());
    result += text.substr(0, begin);
    text.remove_prefix(begin);
    if (text.empty()) return result;
    if (!result.ends_with("http://") && !result.ends_with("https://")) continue;
    std::string_view url = text.substr(0, text.find_first_of(" \t\r\n\"'`<>"));
    while (!url.empty() && std::string_view(".,:;)").find(url.back()) != std::string_view::npos)
      url.remove_suffix(1);  // of the sentence that it stands in
    text.remove_prefix(url.size());
    const std::size_t user = url.substr(0, url.find_first_of("/?#")).rfind('@');
    if (user != std::string_view::npos) url.remove_prefix(user + 1);
    result += url.substr(0, url.find_first_of("?#"));
  }
}

std::size_t edit_distance(std::string_view left, std::string_view right) {
  // Three rows of the Damerau-Levenshtein table (restricted: a swapped pair is not edited again).
  std::vector<std::size_t> before(right.size() + 1);
  std::vector<std::size_t> previous(right.size() + 1);
  std::vector<std::size_t> current(right.size() + 1);
  std::iota(previous.begin(), previous.end(), std::size_t{0});
  for (std::size_t i = 1; i <= left.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replace = previous[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[right.size()];
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t kLongest = 100;  // a comparison takes time by the product of the lengths
  if (name.size() > kLongest) return {};
  const std::string wanted = comparable(name);
  std::size_t best = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, comparable(candidate));
    if (distance < best && distance < candidate.size()) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string format_bytes(std::uint64_t size_bytes) {
  if (size_bytes < 1024) return fmt::format("{} B", size_bytes);
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(size_bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would print as 1024.0.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 0) return "-" + format_duration(-seconds);
  if (seconds < 0.99995) return fmt::format("{:.1f} ms", seconds * 1000);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  const std::int64_t minutes = whole / 60;
  if (minutes < std::int64_t{24} * 60)
    return fmt::format("{} h {:02} m", minutes / 60, minutes % 60);
  const std::int64_t hours = minutes / 60;
  return fmt::format("{} d {:02} h", hours / 24, hours % 24);
}

std::string format_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t place = digits.size(); place > first + 3;) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

}  // namespace paceline::base
