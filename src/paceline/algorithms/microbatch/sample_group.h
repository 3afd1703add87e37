#pragma once

#include "paceline/base/philox.h"
#include "paceline/config/schema.h"
#include "paceline/train/batch/batch.h"
#include "paceline/train/run_context.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace paceline::algorithms {

/// What is drawn for microbatches; part of a draw's key, so that draws of one algorithm never shift
/// another's. The numbers are part of reproducibility: never reuse or reorder them.
enum class Drawn : std::uint64_t {
  kMixup = 0,
  kCutmix = 1,
  kCutout = 2,
  kColout = 3,
  kTurn = 4,
  kSelection = 5,
  kResizing = 6
};

/// What a draw is a function of: neither ranks nor microbatches, but for the sample that is first.
struct GroupKey {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t position = 0;  ///< in the epoch's global order

  base::Philox draws(Drawn what) const;
};

/// Consecutive samples of a microbatch that share a draw.
struct SampleGroup {
  std::int64_t row = 0;  ///< of the first one in the microbatch
  std::int64_t count = 0;
  GroupKey key;  ///< with the position of the first one
};

/// The rows of its samples in the microbatch.
std::vector<std::int64_t> rows_of(const SampleGroup& group);

/// The groups of a microbatch of `size` samples, the first of which has this key: each of `group`
/// samples by their position, but for those that the microbatch cuts; without `group` a single one.
std::vector<SampleGroup> sample_groups(const GroupKey& first, std::int64_t size,
                                       std::optional<std::int64_t> group);

/// The same of a batch in a step.
inline std::vector<SampleGroup> sample_groups(const train::Batch& batch, std::int64_t step,
                                              const train::RunContext& run,
                                              std::optional<std::int64_t> group) {
  return sample_groups({run.seed, step, batch.first_position}, batch.size, group);
}

/// How recipes say it.
template <class Config>
constexpr auto group_field() {
  return config::field(
      &Config::group, "group",
      "So many consecutive samples share a draw, so that ranks and microbatches of any size that "
      "it divides give the same; null: the microbatch.",
      config::AtLeast{1}, config::AtMost{1'000'000, "no microbatch is as large"});
}

}  // namespace paceline::algorithms
