#pragma once

#include <cstdint>
#include <string_view>

namespace paceline::loggers {

/// CRC-32C (Castagnoli), as in iSCSI: polynomial 0x82F63B78 reflected, all ones before and after.
std::uint32_t crc32c(std::string_view bytes);

/// The CRC as TensorBoard's records store it, so that a CRC over bytes with CRCs in them stays
/// useful.
inline std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace paceline::loggers
