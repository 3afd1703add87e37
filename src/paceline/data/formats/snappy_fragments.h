#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace paceline::data {

/// Where each 64 KiB of the content begin in it as compressed by Snappy, and the end. Nothing if it
/// is damaged or not made as all known compressors do, by beginning anew every 64 KiB. The format:
/// google/snappy, format_description.txt.
std::optional<std::vector<std::uint32_t>> list_snappy_fragments(
    std::span<const std::uint8_t> compressed, std::uint32_t content_size);

/// Writes the head of Snappy's format, the content's size, and gives its length, at most 5.
std::size_t write_snappy_size(std::uint32_t content_size, std::uint8_t* target);

}  // namespace paceline::data
