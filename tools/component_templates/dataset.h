#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

struct NewPartConfig {
  std::int64_t num_samples = 64;
};

/// Opens one split: grey images, a level a class, in the place of what is read from files. A Config
/// with a `path` gets it by place_of() (dataset_place.h) and is checked before a run.
std::unique_ptr<Dataset> open(const NewPartConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const NewPartConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::NewPartConfig> {
  using Config = data::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence what images these are.";
  static constexpr auto fields =
      std::tuple{field(&Config::num_samples, "num_samples", "Samples of each split.", AtLeast{1},
                       AtMost{1'000'000'000, "no data set has more"})};
};
