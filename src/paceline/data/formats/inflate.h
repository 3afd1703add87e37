#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// Decompresses zlib or gzip data (of one or several members). Throws DataError that names `name`
/// if it is damaged, or would be longer than `max_bytes`.
std::vector<std::uint8_t> inflate_bytes(std::span<const std::uint8_t> compressed,
                                        std::size_t max_bytes, const std::string& name);

}  // namespace paceline::data
