#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::base {

/// The parts between separators; an empty text has one empty part.
std::vector<std::string> split(std::string_view text, char separator);

std::string join(std::span<const std::string> parts, std::string_view separator);

/// At most the first `most` parts, after commas, and how many more there are: "a, b and 12 more".
std::string join_first(std::span<const std::string> parts, std::size_t most);

/// Without white space at both ends.
std::string_view trim(std::string_view text);

/// ASCII only.
std::string to_lower(std::string_view text);

/// The offset of the first byte that is not part of UTF-8, or nothing.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// For a message: in one line, without control characters, and cut with "..." after so many bytes.
std::string excerpt(std::string_view text, std::size_t longest = 60);

/// For a command to be copied: quoted where a POSIX shell would see more than a word.
std::string shell_word(const std::string& text);

/// The text with the http and https URLs in it bare: without user, password, query and fragment,
/// which may be secrets.
std::string with_bare_urls(std::string_view text);

/// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
std::size_t edit_distance(std::string_view left, std::string_view right);

/// The candidate that a user probably meant, or an empty text if none is near. Case and the
/// difference between '-' and '_' do not count. The first of equals wins. Nothing is near a name of
/// more than 100 bytes.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

/// "512 B", "1.5 KiB", "3.2 GiB".
std::string format_bytes(std::uint64_t size_bytes);

/// "0.4 ms", "12.3 s", "4 m 05 s", "3 h 07 m", "2 d 04 h".
std::string format_duration(double seconds);

/// "25,557,032".
std::string format_count(std::int64_t count);

}  // namespace paceline::base
