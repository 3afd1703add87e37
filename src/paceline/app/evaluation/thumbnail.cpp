#include "paceline/app/evaluation/thumbnail.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/jpeg_encoder.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace paceline::app {
namespace {

constexpr int kQuality = 85;

data::ImageSize fitting(data::ImageSize image, int side) {
  const double scale =
      std::min(1.0, side / static_cast<double>(std::max(image.height, image.width)));
  const auto scaled = [&](int length) {
    return std::max(1, static_cast<int>(std::lround(length * scale)));
  };
  return {scaled(image.height), scaled(image.width)};
}

}  // namespace

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) {
      return at < bytes.size() ? std::uint32_t{bytes[at]} : 0U;
    };
    const std::uint32_t word = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += kDigits[word >> 18];
    text += kDigits[word >> 12 & 63];
    text += i + 1 < bytes.size() ? kDigits[word >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kDigits[word & 63] : '=';
  }
  return text;
}

data::PixelView Thumbnails::pixels() {
  if (sample_.width == 0) {
    const data::ImageSize size = decoder_.open(sample_.bytes);
    return decoder_.decode(data::whole(size), buffer_);
  }
  std::ranges::copy(sample_.bytes, buffer_.reserve(sample_.bytes.size()));
  return {buffer_.data(), {sample_.height, sample_.width}, std::ptrdiff_t{3} * sample_.width};
}

std::string Thumbnails::uri(std::int64_t index) {
  if (!dataset_.stored_fields().empty()) return {};
  try {
    dataset_.get(index, sample_);
    const data::PixelView whole = pixels();
    const data::PixelView small =
        resizer_.resize(whole, fitting(whole.size, side_), data::Interpolation::kBilinear, small_);
    return "data:image/jpeg;base64," + base64(data::encode_jpeg(small, kQuality));
  } catch (const base::DataError&) {
    return {};
  }
}

}  // namespace paceline::app
