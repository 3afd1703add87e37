#pragma once

#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace paceline::data {

/// How the bytes of a raw image lie: one grey value a pixel, RGB triples, or three planes.
enum class RawLayout { kGray, kRgb, kPlanar };

/// Images of one size on end, 8 bits a value, row by row.
struct RawImages {
  std::string source;                 ///< the file, for messages
  std::shared_ptr<const void> owner;  ///< of the memory below
  const std::uint8_t* bytes = nullptr;
  std::int64_t count = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  RawLayout layout = RawLayout::kRgb;
  std::shared_ptr<const base::MappedFile> mapping = {};  ///< whose memory it is, if a file's

  std::int64_t image_bytes() const { return height * width * (layout == RawLayout::kGray ? 1 : 3); }
};

/// Labelled raw images in memory, which may be a mapped file. Grey ones are given out as RGB.
class RawDataset final : public Dataset {
 public:
  /// Classes are named by their numbers. Throws DataError unless there is one label per image, each
  /// in [0, num_classes), and the images have a size; `label_source` is the file to name.
  RawDataset(RawImages images, std::vector<std::int64_t> labels, int num_classes,
             const std::string& label_source);

  std::int64_t size() const override { return images_.count; }
  int num_classes() const override { return num_classes_; }
  std::vector<std::string> class_names() const override;
  std::int64_t label(std::int64_t index) const override {
    return labels_[static_cast<std::size_t>(index)];
  }
  void get(std::int64_t index, StoredSample& sample) const override;
  std::span<const std::uint8_t> memory_of(std::int64_t index) const override;
  std::string describe(std::int64_t index) const override;
  /// Of all labels, and of 1,000 images: reading all could take minutes.
  std::string fingerprint() const override;

 private:
  const std::uint8_t* image(std::int64_t index) const {
    return images_.bytes + index * images_.image_bytes();
  }
  void check_mapping() const;

  RawImages images_;
  std::vector<std::int64_t> labels_;
  int num_classes_;
};

}  // namespace paceline::data
