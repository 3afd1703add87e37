#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace paceline::data::jpeg {

/// The stored form (stored_format.h) of a JPEG file of the common kind (parse_header); nothing for
/// other files and damaged ones.
std::optional<std::vector<std::uint8_t>> store_coefficients(std::span<const std::uint8_t> file);

}  // namespace paceline::data::jpeg
