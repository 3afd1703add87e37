#include "paceline/algorithms/microbatch/sample_group.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace paceline::algorithms {

base::Philox GroupKey::draws(Drawn what) const {
  constexpr int kAbovePositions = 40;  // no epoch has as many samples
  return {
      seed, base::DrawPurpose::kMixing, static_cast<std::uint64_t>(step),
      static_cast<std::uint64_t>(what) << kAbovePositions | static_cast<std::uint64_t>(position)};
}

std::vector<std::int64_t> rows_of(const SampleGroup& group) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(group.count));
  std::iota(rows.begin(), rows.end(), group.row);
  return rows;
}

std::vector<SampleGroup> sample_groups(const GroupKey& first, std::int64_t size,
                                       std::optional<std::int64_t> group) {
  std::vector<SampleGroup> groups;
  for (std::int64_t row = 0; row < size;) {
    const std::int64_t position = first.position + row;
    const std::int64_t to_border = group ? *group - position % *group : size;
    const std::int64_t count = std::min(size - row, to_border);
    groups.push_back({row, count, {first.seed, first.step, position}});
    row += count;
  }
  return groups;
}

}  // namespace paceline::algorithms
