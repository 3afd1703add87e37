#include "paceline/parallel/unit_segments.h"

#include "paceline/base/error.h"

#include <algorithm>

namespace paceline::parallel {

Units::Units(const optim::ParameterShards& shards) {
  for (const optim::WholeParameter& parameter : shards.parameters) {
    PACELINE_CHECK(parameter.order.empty() || parameter.order.front() == 0,
                   "the units of '{}' do not lie one after the other", parameter.name);
    const std::int64_t units = parameter.sizes.size() > 1 ? parameter.sizes.front() : 1;
    places_.push_back({count_, units, std::max<std::int64_t>(1, parameter.numel() / units)});
    count_ += units;
  }
}

UnitSegment Units::of_parameter(std::int64_t parameter) const {
  const auto& [first_unit, num_units, length] = places_[static_cast<std::size_t>(parameter)];
  return {0, first_unit, num_units, length};
}

std::vector<UnitSegment> Units::segments(const optim::ParamPiece& piece) const {
  const auto& [first_unit, num_units, length] = places_[static_cast<std::size_t>(piece.parameter)];
  std::vector<UnitSegment> found;
  std::int64_t at = piece.offset;
  const std::int64_t end = piece.offset + piece.end - piece.begin;
  while (at < end) {
    const std::int64_t rest = std::min(end - at, length - at % length);
    const bool is_whole = rest == length;
    const std::int64_t units = is_whole ? (end - at) / length : 1;
    found.push_back({piece.begin + at - piece.offset, first_unit + at / length, units, rest});
    at += units * rest;
  }
  return found;
}

}  // namespace paceline::parallel
