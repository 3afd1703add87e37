#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// Made-up raw pixels that cost next to nothing to make: noise under stripes whose number tells the
/// class. For benchmarks and tests without files.
class SyntheticDataset final : public Dataset {
 public:
  /// `first` is the number of the first sample, so that splits do not overlap.
  SyntheticDataset(std::int64_t num_samples, int num_classes, int image_size, std::int64_t first);

  std::int64_t size() const override { return num_samples_; }
  int num_classes() const override { return num_classes_; }
  std::vector<std::string> class_names() const override;
  std::int64_t label(std::int64_t index) const override;
  void get(std::int64_t index, StoredSample& sample) const override;
  std::string describe(std::int64_t index) const override;
  std::string fingerprint() const override;

 private:
  std::int64_t num_samples_;
  int num_classes_;
  int image_size_;
  std::int64_t first_;
  std::vector<std::uint8_t> noise_;  ///< an image's worth and kOffsets more
};

struct SyntheticConfig {
  std::int64_t num_samples = 1024;
  std::int64_t num_val_samples = 256;
  int num_classes = 10;
  int size = 32;
};

/// Opens one split.
std::unique_ptr<Dataset> open(const SyntheticConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const SyntheticConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::SyntheticConfig> {
  using Config = data::SyntheticConfig;
  static constexpr std::string_view name = "synthetic";
  static constexpr std::string_view summary =
      "Noise under stripes that tell the class, made in memory; for benchmarks and tests.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields =
      std::tuple{field(&Config::num_samples, "num_samples", "Training samples.", AtLeast{1},
                       AtMost{10'000'000'000, "no data set has more"}),
                 field(&Config::num_val_samples, "num_val_samples", "Validation samples.",
                       AtLeast{1}, AtMost{10'000'000'000, "no data set has more"}),
                 field(&Config::num_classes, "num_classes", "Number of classes.", AtLeast{1},
                       AtMost{10'000'000, "no classifier has more outputs"}),
                 field(&Config::size, "size", "Height and width in pixels.", InRange{1, 4096})};
};
