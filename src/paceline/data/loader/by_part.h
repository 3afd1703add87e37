#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/loader/sampler.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// The parts of a mixture (Dataset::part()) by weight: of each epoch's places every part has a
/// fixed number, its share rounded by the largest remainders, at drawn places. A part's samples
/// come in shuffled passes that go on from epoch to epoch, so that after any number of whole epochs
/// two samples of a part were seen equally often but for one time. Draws by weight would miss both:
/// shares would vary from epoch to epoch, and some samples of a large part would never be seen.
struct ByPartConfig {
  std::vector<double> weights = {};                   ///< only the ratios count
  std::optional<std::int64_t> places_per_epoch = {};  ///< empty: as many as there are samples
};

/// The data set need not outlive the sampler. Throws ConfigError unless there is a weight for each
/// part, and a sample where it is above 0.
std::unique_ptr<Sampler> make(const ByPartConfig& config, const Dataset& dataset,
                              std::uint64_t seed);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ByPartConfig> {
  using Config = data::ByPartConfig;
  static constexpr std::string_view name = "by_part";
  static constexpr std::string_view summary =
      "The parts of a mixture by weight, exactly so in every epoch.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::weights, "weights",
            "How often each part of the mixture comes, of which only the ratios count; 0: never; "
            "empty: all the same.",
            AtLeast{0}, AtMost{1e6, "only the ratios count"}),
      field(&Config::places_per_epoch, "places_per_epoch",
            "Samples of an epoch; null: as many as all parts have together.", AtLeast{1},
            AtMost{1'000'000'000'000, "no epoch has more samples"})};
};
