#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace paceline::data {

/// How a JPEG file is coded: "baseline 4:2:0", "progressive 4:4:4", "baseline grey", "arithmetic
/// CMYK". Nothing if the file ends before it says so. The format: ITU-T T.81, annex B.
std::optional<std::string> describe_jpeg(std::span<const std::uint8_t> bytes);

}  // namespace paceline::data
