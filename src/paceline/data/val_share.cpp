#include "paceline/data/val_share.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/data/dataset_view.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace paceline::data {
namespace {

class ShareView final : public DatasetView {
 public:
  ShareView(std::unique_ptr<Dataset> whole, std::vector<std::int64_t> indices, SharePart part,
            std::string name)
      : DatasetView(std::move(whole)),
        indices_(std::move(indices)),
        part_(part),
        name_(std::move(name)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  std::string fingerprint() const override {
    return fmt::format("{}:{}", name_, whole().fingerprint());
  }
  /// Told of one part, not twice.
  LeftOut left_out() const override {
    return part_ == SharePart::kKept ? whole().left_out() : LeftOut{};
  }

 private:
  std::int64_t at(std::int64_t index) const override {
    return indices_[static_cast<std::size_t>(index)];
  }

  std::vector<std::int64_t> indices_;
  SharePart part_;
  std::string name_;  ///< of the part
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
  return std::make_unique<ShareView>(
      std::move(dataset), std::move(indices), part,
      fmt::format("{}:{}:{}", part == SharePart::kHeldOut ? "held-out" : "kept", share, seed));
}

}  // namespace paceline::data
