#include "paceline/data/codec/jpeg/baseline_decoder.h"

namespace paceline::data::jpeg {

std::optional<ImageSize> BaselineDecoder::open(std::span<const std::uint8_t> file) {
  file_ = file;
  if (!parse_header(file, header_)) return std::nullopt;
  return header_.size;
}

std::optional<PixelView> BaselineDecoder::decode(const Box& box, PixelBuffer& buffer) {
  if (!scan_.start(header_, file_)) return std::nullopt;
  return reconstruction_.decode(header_, box, scan_, buffer);
}

}  // namespace paceline::data::jpeg
