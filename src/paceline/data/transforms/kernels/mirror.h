#pragma once

#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// Copies the `count` RGB pixels of a row from the last to the first. Reads and writes nothing
/// beside them; the rows must not overlap.
void copy_mirrored(const std::uint8_t* source, std::ptrdiff_t count, std::uint8_t* target);

}  // namespace paceline::data
