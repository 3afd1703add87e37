#pragma once

#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// Writes 3 * count bytes: RGB triples of three planes of `count` bytes that follow each other
/// after `plane` bytes; with plane 0 all three are the same one, a grey image.
void interleave_planes(const std::uint8_t* planes, std::size_t plane, std::size_t count,
                       std::uint8_t* target);

}  // namespace paceline::data
