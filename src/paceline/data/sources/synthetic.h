#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <string>
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

}  // namespace paceline::data
