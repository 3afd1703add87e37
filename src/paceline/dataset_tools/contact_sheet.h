#pragma once

#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/resize.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace paceline::dataset_tools {

/// Images side by side on grey, for the eye: written as PNG.
class ContactSheet {
 public:
  /// Room for `count` images in tiles of at most `tile` pixels, in rows of about equal length.
  ContactSheet(std::int64_t count, int tile);

  /// Puts an image into the middle of tile `place`, made smaller if it has to be.
  /// PixelBuffer::kPadding bytes beyond its last pixel must be readable.
  void put(std::int64_t place, const data::PixelView& image);

  /// What has been put so far.
  data::PixelView pixels() const;

  /// Throws DataError if the file cannot be written.
  void write_png(const std::filesystem::path& path) const;

 private:
  int tile_;
  std::int64_t columns_;
  data::ImageSize size_;
  std::vector<std::uint8_t> pixels_;
  data::Resizer resizer_;
  data::PixelBuffer small_;
};

}  // namespace paceline::dataset_tools
