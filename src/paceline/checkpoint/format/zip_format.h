#pragma once

#include <cstdint>

namespace paceline::checkpoint {

// What zip archives are marked by: PKWARE's APPNOTE.TXT, sections 4.3.7 (local header), 4.3.12
// (central directory), 4.3.14 to 4.3.16 (its end) and 4.5.3 (zip64). All numbers are little-endian.
inline constexpr std::uint32_t kZipLocalHeader = 0x04034b50;
inline constexpr std::uint32_t kZipCentralHeader = 0x02014b50;
inline constexpr std::uint32_t kZipEnd = 0x06054b50;
inline constexpr std::uint32_t kZipEnd64 = 0x06064b50;
inline constexpr std::uint32_t kZipEnd64Locator = 0x07064b50;
inline constexpr std::uint16_t kZipExtra64 = 0x0001;
/// In place of a number of 32 bits: it stands among the extra fields.
inline constexpr std::uint32_t kZipSeeExtra = 0xffffffff;

}  // namespace paceline::checkpoint
