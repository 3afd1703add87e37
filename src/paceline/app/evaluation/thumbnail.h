#pragma once

#include "paceline/data/codec/image_decoder.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/transforms/resize.h"

#include <cstdint>
#include <span>
#include <string>

namespace paceline::app {

/// Bytes in base64, with padding (RFC 4648).
std::string base64(std::span<const std::uint8_t> bytes);

/// Makes small pictures of stored samples, to be put into a page.
class Thumbnails {
 public:
  /// Of at most `side` pixels. The data set must outlive it.
  Thumbnails(const data::Dataset& dataset, int side) : dataset_(dataset), side_(side) {}

  /// "data:image/jpeg;base64,..." of a sample, whole and none larger than it is; empty where it is
  /// no image or cannot be read any more.
  std::string uri(std::int64_t index);

 private:
  data::PixelView pixels();

  const data::Dataset& dataset_;
  int side_;
  data::StoredSample sample_;
  data::ImageDecoder decoder_;
  data::Resizer resizer_;
  data::PixelBuffer buffer_;
  data::PixelBuffer small_;
};

}  // namespace paceline::app
