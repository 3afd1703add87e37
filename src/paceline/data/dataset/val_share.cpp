#include "paceline/data/dataset/val_share.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/data/dataset/dataset_view.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace paceline::data {
namespace {

/// What data.val_share takes from the training samples.
class HeldOutSamples final : public SelectedSamples {
 public:
  using SelectedSamples::SelectedSamples;
  /// The samples that were kept tell of these.
  LeftOut left_out() const override { return {}; }
};

/// Uniform over all numbers of 64 bits.
std::uint64_t place_of(const Dataset& dataset, const std::vector<std::string>& classes,
                       std::int64_t index, std::uint64_t seed) {
  const auto label = static_cast<std::size_t>(dataset.label(index));
  const std::string of_class = label < classes.size() ? classes[label] : std::to_string(label);
  return base::xxh3(fmt::format("{}\n{}\n{}", seed, of_class, dataset.name(index)));
}

}  // namespace

std::unique_ptr<Dataset> take_share(std::unique_ptr<Dataset> dataset, double share,
                                    std::uint64_t seed, SharePart part) {
  PACELINE_CHECK(share > 0 && share < 1, "a share of {}", share);
  const auto border = static_cast<std::uint64_t>(std::ldexp(share, 64));
  const std::vector<std::string> classes = dataset->class_names();
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < dataset->size(); ++i) {
    const bool is_held_out = place_of(*dataset, classes, i, seed) < border;
    if (is_held_out == (part == SharePart::kHeldOut)) indices.push_back(i);
  }
  if (indices.empty()) {
    throw base::DataError(fmt::format(
        "data.val_share: {} of {} training images leaves {} without any: choose another share, or "
        "name validation images by data.val_path",
        share, dataset->size(), part == SharePart::kHeldOut ? "validation" : "training"));
  }
  if (part == SharePart::kHeldOut)
    return std::make_unique<HeldOutSamples>(std::move(dataset), std::move(indices),
                                            fmt::format("held-out:{}:{}", share, seed));
  return std::make_unique<SelectedSamples>(std::move(dataset), std::move(indices),
                                           fmt::format("kept:{}:{}", share, seed));
}

}  // namespace paceline::data
