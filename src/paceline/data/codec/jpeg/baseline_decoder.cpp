#include "paceline/data/codec/jpeg/baseline_decoder.h"

namespace paceline::data::jpeg {

std::optional<ImageSize> BaselineDecoder::open(std::span<const std::uint8_t> file) {
  file_ = file;
  if (!parse_header(file, header_)) return std::nullopt;
  return header_.size;
}

std::optional<PixelView> BaselineDecoder::decode(const Box& box, PixelBuffer& buffer) {
  const std::ptrdiff_t stride = std::ptrdiff_t{3} * box.width;
  std::uint8_t* target = buffer.reserve(static_cast<std::size_t>(stride * box.height) +
                                        Reconstruction::kTargetPadding);
  if (!scan_.start(header_, file_)) return std::nullopt;
  if (!reconstruction_.run(header_, box, scan_, target)) return std::nullopt;
  return PixelView{target, box.size(), stride};
}

}  // namespace paceline::data::jpeg
