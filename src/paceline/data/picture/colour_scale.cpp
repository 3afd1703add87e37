#include "paceline/data/picture/colour_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace paceline::data {
namespace {

constexpr Colour kNoNumber{0, 255, 0};

constexpr std::array kGreys{Colour{0, 0, 0}, Colour{255, 255, 255}};
constexpr std::array kDifferences{Colour{20, 50, 140}, Colour{80, 150, 215}, Colour{248, 248, 248},
                                  Colour{225, 115, 80}, Colour{140, 15, 30}};
constexpr std::array kSpreads{Colour{5, 5, 15}, Colour{85, 20, 110}, Colour{190, 55, 85},
                              Colour{245, 140, 35}, Colour{252, 252, 180}};

std::span<const Colour> colours_of(ColourMap map) {
  switch (map) {
    case ColourMap::kGrey:
      return kGreys;
    case ColourMap::kDiverging:
      return kDifferences;
    case ColourMap::kSequential:
      return kSpreads;
  }
  return kGreys;
}

std::uint8_t between(std::uint8_t first, std::uint8_t second, double share) {
  return static_cast<std::uint8_t>(std::lround(first + share * (second - first)));
}

}  // namespace

Colour ColourScale::at(double value) const {
  if (std::isnan(value)) return kNoNumber;
  const std::span<const Colour> colours = colours_of(map);
  const double place =
      std::clamp((value - low) / (high - low), 0.0, 1.0) * static_cast<double>(colours.size() - 1);
  const auto first = std::min(static_cast<std::size_t>(place), colours.size() - 2);
  const double share = place - static_cast<double>(first);
  const Colour& one = colours[first];
  const Colour& other = colours[first + 1];
  return {between(one.red, other.red, share), between(one.green, other.green, share),
          between(one.blue, other.blue, share)};
}

double round_end(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  constexpr double kRounding = 1e-9;
  for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (value <= step * power * (1 + kRounding)) return step * power;
  }
  return 10 * power;
}

}  // namespace paceline::data
