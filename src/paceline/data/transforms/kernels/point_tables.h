#pragma once

#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/kernels/image_statistics.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace paceline::data {

using ByteTable = std::array<std::uint8_t, 256>;
/// What an operation that looks at one byte at a time makes of each, for red, green and blue. Such
/// operations compose exactly.
using PointTables = std::array<ByteTable, 3>;

// Pillow's ImageEnhance and ImageOps as tables.

/// degenerate + factor * (byte - degenerate) in float32, clamped and cut off: Brightness with a
/// degenerate of 0, Contrast with the rounded mean of the luma.
ByteTable blend_table(int degenerate, float factor);
/// Keeps the upper `bits` of 8.
ByteTable posterize_table(int bits);
/// Inverts bytes that are not below `threshold`.
ByteTable solarize_table(double threshold);
/// Adds `amount` to bytes below `threshold`.
ByteTable solarize_add_table(int amount, int threshold);
ByteTable invert_table();
/// Stretches each channel to 0 .. 255.
PointTables autocontrast_tables(const ChannelRanges& ranges);
/// Makes each channel's values about equally frequent.
PointTables equalize_tables(const ChannelHistograms& histograms);

PointTables identity_tables();
/// `tables` becomes: first itself, then `next`.
void append(PointTables& tables, const PointTables& next);
void append(PointTables& tables, const ByteTable& next);

/// Writes every byte's entry in its channel's table to `target`, whose rows lie `stride` bytes
/// apart; up to PixelBuffer::kPadding bytes beyond the last pixel of both are read and written.
void apply_tables(const PixelView& source, const PointTables& tables, std::uint8_t* target,
                  std::ptrdiff_t stride);

/// The same in plain C++: what the vector code is tested against.
void apply_tables_scalar(const PixelView& source, const PointTables& tables, std::uint8_t* target,
                         std::ptrdiff_t stride);

}  // namespace paceline::data
