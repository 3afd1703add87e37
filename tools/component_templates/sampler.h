#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/loader/sampler.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Every sample once an epoch, turned by a number of places each epoch: say here which law it is.
struct NewPartConfig {
  std::int64_t turn = 0;
};

std::unique_ptr<Sampler> make(const NewPartConfig& config, const Dataset& dataset,
                              std::uint64_t seed);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::NewPartConfig> {
  using Config = data::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence which samples an epoch sees.";
  static constexpr auto fields = std::tuple{
      field(&Config::turn, "turn", "Places that an epoch begins later than the last one.",
            AtLeast{0}, AtMost{1'000'000'000, "no data set has more"})};
};
