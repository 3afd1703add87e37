#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/field.h"
#include "paceline/data/image/pixels.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

/// Of a field's numbers, those that are not finite left out and counted apart.
struct NumberRange {
  double smallest = 0;
  double largest = 0;
  double sum = 0;
  std::int64_t count = 0;
  std::int64_t not_finite = 0;

  double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
  void add(const NumberRange& other);
};

NumberRange range_of(const data::FieldSpec& field, std::span<const std::byte> sample);

/// "-1000 to 2976, mean -412.5", and how many numbers are not finite.
std::string describe(const NumberRange& range);

/// Whether there is a slice to draw.
bool has_slice(const data::FieldSpec& field);

/// The middle of all axes but the last two, as grey from its smallest to its largest number. Valid
/// until the buffer is used again.
data::PixelView middle_slice(const data::FieldSpec& field, std::span<const std::byte> sample,
                             data::PixelBuffer& buffer);

/// The ranges of a data set's stored fields over `num_examined` samples, evenly spread; 0: all.
/// Throws DataError for a sample that cannot be read.
std::vector<NumberRange> examine_fields(
    const data::Dataset& dataset, std::int64_t num_examined, int num_threads,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress);

}  // namespace paceline::dataset_tools
