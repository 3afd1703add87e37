#pragma once

#include <string>
#include <string_view>

namespace paceline::base {

/// HMAC-SHA256 (RFC 2104) as 64 hexadecimal digits: nobody makes or guesses it without the key.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

/// Whether two texts are equal, in a time that does not tell where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace paceline::base
