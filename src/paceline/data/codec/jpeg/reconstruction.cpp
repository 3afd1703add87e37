#include "paceline/data/codec/jpeg/reconstruction.h"

#include "paceline/data/codec/jpeg/idct.h"
#include "paceline/data/codec/jpeg/sample_rows.h"

#include <algorithm>
#include <cstring>

namespace paceline::data::jpeg {

Box needed_mcus(const Header& header, const Box& box) {
  const int beside = header.has_narrow_chroma() ? 1 : 0;
  const int above = header.has_low_chroma() ? 1 : 0;
  const int below = header.has_low_chroma() ? 2 : 0;
  const int top = std::max(0, box.top - above) / header.mcu_height();
  const int left = std::max(0, box.left - beside) / header.mcu_width();
  const int last_row =
      std::min((box.bottom() - 1 + below) / header.mcu_height(), header.mcu_rows() - 1);
  const int last_column =
      std::min((box.right() - 1 + beside) / header.mcu_width(), header.mcu_columns() - 1);
  return {top, left, last_row + 1 - top, last_column + 1 - left};
}

void Reconstruction::Plane::resize(int num_rows, int width) {
  rows = num_rows;
  const int room = width + kExtraBlocks * kBlockSide + kRowPadding;
  stride = (room + kRowPadding - 1) / kRowPadding * kRowPadding + kRowPadding;
  first = memory.reserve(static_cast<std::size_t>(stride * (rows + 2))) + stride + kRowPadding;
}

void Reconstruction::Plane::copy_row(int from, int to) {
  std::memcpy(row(to) - 1, row(from) - 1, static_cast<std::size_t>(stride - kRowPadding));
}

std::optional<PixelView> Reconstruction::decode(const Header& header, const Box& box,
                                                CoefficientSource& source, PixelBuffer& buffer) {
  const std::ptrdiff_t stride = std::ptrdiff_t{3} * box.width;
  std::uint8_t* const target =
      buffer.reserve(static_cast<std::size_t>(stride * box.height) + kTargetPadding);
  if (!run(header, box, source, target)) return std::nullopt;
  return PixelView{target, box.size(), stride};
}

bool Reconstruction::run(const Header& header, const Box& box, CoefficientSource& source,
                         std::uint8_t* target) {
  header_ = &header;
  target_ = target;
  prepare(header, box);
  for (int mcu_row = mcus_.top; mcu_row < mcus_.bottom(); ++mcu_row) {
    if (header.has_low_chroma()) {
      for (Plane& plane : planes_) plane.copy_row(plane.rows - 1, -1);
    }
    if (!source.read(mcu_row, coefficients_)) return false;
    transform_row();
    if (header.has_chroma()) extend_chroma(mcu_row);
    write_rows(mcu_row);
  }
  return true;
}

void Reconstruction::prepare(const Header& header, const Box& box) {
  box_ = box;
  mcus_ = needed_mcus(header, box);
  coefficients_.resize(header, mcus_.left, mcus_.width);
  for (std::size_t i = 0; i < header.num_components; ++i) {
    const Component& component = header.components[i];
    planes_[i].resize(kBlockSide * component.rows, kBlockSide * component.columns * mcus_.width);
    upsampled_[i].reserve(static_cast<std::size_t>(header.mcu_width()) *
                              static_cast<std::size_t>(mcus_.width) +
                          std::size_t{2} * kRowPadding);
  }
}

void Reconstruction::transform_row() {
  for (std::size_t i = 0; i < header_->num_components; ++i) {
    const Component& component = header_->components[i];
    for (int row = 0; row < component.rows; ++row) {
      transform_blocks(coefficients_.line(i, row), coefficients_.line_length(i),
                       header_->quantisers[component.quantisers], planes_[i].row(kBlockSide * row),
                       planes_[i].stride);
    }
  }
}

/// Repeats the samples of chroma at the image's edges beyond them.
void Reconstruction::extend_chroma(int mcu_row) {
  const int mcu_width = header_->components[0].columns;
  const int mcu_height = header_->components[0].rows;
  const int width = (header_->size.width + mcu_width - 1) / mcu_width - kBlockSide * mcus_.left;
  const int height = (header_->size.height + mcu_height - 1) / mcu_height - kBlockSide * mcu_row;
  for (std::size_t i = 1; i < kMaxComponents; ++i) {
    Plane& plane = planes_[i];
    for (int y = 0; y < plane.rows; ++y) {
      std::uint8_t* row = plane.row(y);
      if (mcus_.left == 0) row[-1] = row[0];
      if (width <= kBlockSide * mcus_.width) row[width] = row[width - 1];
    }
    if (mcu_row == 0) plane.copy_row(0, -1);
    if (height <= plane.rows) plane.copy_row(height - 1, height);
  }
}

/// The last row of low chroma's pixels waits for the chroma of the next MCU row, if there is one.
void Reconstruction::write_rows(int mcu_row) {
  const int top = mcu_row * header_->mcu_height();
  const int kept_back = header_->has_low_chroma() ? 1 : 0;
  const bool is_last = mcu_row + 1 == header_->mcu_rows();
  const int first = std::max(box_.top, mcu_row == mcus_.top ? top : top - kept_back);
  const int end = std::min(box_.bottom(), top + header_->mcu_height() - (is_last ? 0 : kept_back));
  for (int y = first; y < end; ++y) write_row(mcu_row, y - top);
}

/// Writes the pixels of row `y` of the MCU row.
void Reconstruction::write_row(int mcu_row, int y) {
  const int left = box_.left - header_->mcu_width() * mcus_.left;
  const int target_row = mcu_row * header_->mcu_height() + y - box_.top;
  std::uint8_t* rgb = target_ + std::ptrdiff_t{3} * target_row * box_.width;
  const std::uint8_t* luma = planes_[0].row(y) + left;
  if (header_->has_chroma()) {
    convert_ycc_row(luma, chroma_row(1, y) + left, chroma_row(2, y) + left, box_.width, rgb);
  } else {
    convert_gray_row(luma, box_.width, rgb);
  }
}

/// A component's samples for row `y` of pixels, in full width.
const std::uint8_t* Reconstruction::chroma_row(std::size_t component, int y) {
  const Plane& plane = planes_[component];
  const int width = kBlockSide * mcus_.width;
  std::uint8_t* upsampled = upsampled_[component].data();
  if (!header_->has_low_chroma()) {
    if (!header_->has_narrow_chroma()) return plane.row(y);
    widen_row(plane.row(y), width, upsampled);
    return upsampled;
  }
  // Row -1 is the lower half of the sample row above.
  const bool is_lower = (y & 1) != 0;
  const int near = y >> 1;
  const std::uint8_t* far_row = plane.row(is_lower ? near + 1 : near - 1);
  if (header_->has_narrow_chroma()) {
    widen_blended_row(plane.row(near), far_row, width, upsampled);
  } else {
    blend_rows(plane.row(near), far_row, width, is_lower ? Rounding::kUp : Rounding::kDown,
               upsampled);
  }
  return upsampled;
}

}  // namespace paceline::data::jpeg
