#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/image/pixels.h"
#include "paceline/data/loader/sample_maker.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::cli {

/// The fields of samples that are no images, as a loader gets them.
class FieldViewer {
 public:
  /// The data set must outlive it.
  FieldViewer(const data::Dataset& dataset, std::shared_ptr<const data::SampleMaker> maker,
              std::uint64_t seed)
      : dataset_(dataset), maker_(std::move(maker)), seed_(seed) {}

  /// "12  /data/train: sample 12  volume float32 1 x 8 x 8 x 8: -1.2 to 1.5, mean 0.1". Throws
  /// DataError.
  std::string describe(std::int64_t index);

  /// The middle slice of the first field, of the sample that was described last, that has two axes;
  /// nothing if none has. Valid until the next call.
  std::optional<data::PixelView> slice();

 private:
  const data::Dataset& dataset_;
  std::shared_ptr<const data::SampleMaker> maker_;
  std::uint64_t seed_;
  data::StoredSample sample_;
  data::TransformScratch scratch_;
  std::vector<std::vector<std::byte>> values_;  ///< of each field
  data::PixelBuffer buffer_;
};

}  // namespace paceline::cli
