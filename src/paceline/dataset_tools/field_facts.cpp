#include "paceline/dataset_tools/field_facts.h"

#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <fmt/format.h>

namespace paceline::dataset_tools {
namespace {

std::size_t num_numbers(std::span<const std::int64_t> sizes) {
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  return count;
}

/// Where the slice begins, in numbers.
std::size_t slice_begin(const data::FieldSpec& field) {
  std::size_t stride = num_numbers(field.sizes);
  std::size_t begin = 0;
  for (std::size_t axis = 0; axis + 2 < field.sizes.size(); ++axis) {
    const auto size = static_cast<std::size_t>(field.sizes[axis]);
    stride /= size;
    begin += size / 2 * stride;
  }
  return begin;
}

}  // namespace

void NumberRange::add(const NumberRange& other) {
  not_finite += other.not_finite;
  if (other.count == 0) return;
  smallest = count == 0 ? other.smallest : std::min(smallest, other.smallest);
  largest = count == 0 ? other.largest : std::max(largest, other.largest);
  sum += other.sum;
  count += other.count;
}

NumberRange range_of(const data::FieldSpec& field, std::span<const std::byte> sample) {
  NumberRange range;
  const std::size_t count = num_numbers(field.sizes);
  for (std::size_t i = 0; i < count; ++i) {
    const double number = data::number_at(field.type, sample, i);
    if (!std::isfinite(number)) {
      ++range.not_finite;
      continue;
    }
    range.smallest = range.count == 0 ? number : std::min(range.smallest, number);
    range.largest = range.count == 0 ? number : std::max(range.largest, number);
    range.sum += number;
    ++range.count;
  }
  return range;
}

std::string describe(const NumberRange& range) {
  std::string text = range.count == 0 ? std::string("no finite number")
                                      : fmt::format("{:.6g} to {:.6g}, mean {:.6g}", range.smallest,
                                                    range.largest, range.mean());
  if (range.not_finite > 0) text += fmt::format(", {} not finite", range.not_finite);
  return text;
}

bool has_slice(const data::FieldSpec& field) {
  constexpr std::int64_t kLongest = 16'384;
  const std::size_t axes = field.sizes.size();
  return axes >= 2 && num_numbers(field.sizes) > 0 && field.sizes[axes - 1] <= kLongest &&
         field.sizes[axes - 2] <= kLongest;
}

data::PixelView middle_slice(const data::FieldSpec& field, std::span<const std::byte> sample,
                             data::PixelBuffer& buffer) {
  PACELINE_CHECK(has_slice(field), "field {} has nothing to draw", field.name);
  const std::size_t axes = field.sizes.size();
  const data::FieldSpec slice{
      field.name, field.type, {field.sizes[axes - 2], field.sizes[axes - 1]}};
  const auto numbers =
      sample.subspan(slice_begin(field) * data::bytes_of(field.type), data::sample_bytes(slice));
  const NumberRange range = range_of(slice, numbers);
  const double scale = range.largest > range.smallest ? 255 / (range.largest - range.smallest) : 0;
  const std::size_t count = num_numbers(slice.sizes);
  std::uint8_t* const pixels = buffer.reserve(3 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const double number = data::number_at(slice.type, numbers, i);
    const double grey = std::isfinite(number) ? (number - range.smallest) * scale : 0;
    std::fill_n(pixels + 3 * i, 3, static_cast<std::uint8_t>(std::lround(grey)));
  }
  const data::ImageSize size{static_cast<int>(slice.sizes[0]), static_cast<int>(slice.sizes[1])};
  return {pixels, size, std::ptrdiff_t{3} * size.width};
}

std::vector<NumberRange> examine_fields(
    const data::Dataset& dataset, std::int64_t num_examined, int num_threads,
    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  const std::vector<data::FieldSpec> fields = dataset.stored_fields();
  const std::int64_t count =
      num_examined == 0 ? dataset.size() : std::min(num_examined, dataset.size());
  std::vector<std::vector<NumberRange>> all(static_cast<std::size_t>(count));
  std::mutex mutex;
  std::int64_t done = 0;
  base::parallel_for(count, num_threads, [&](std::int64_t i) {
    data::StoredSample sample;
    dataset.get(i * dataset.size() / count, sample);
    auto rest = std::as_bytes(std::span(sample.bytes));
    for (const data::FieldSpec& field : fields) {
      const std::size_t size = data::sample_bytes(field);
      all[static_cast<std::size_t>(i)].push_back(range_of(field, rest.first(size)));
      rest = rest.subspan(size);
    }
    const std::lock_guard lock(mutex);
    if (progress) progress(++done, count);
  });
  std::vector<NumberRange> ranges(fields.size());
  for (const auto& of_sample : all) {  // in order, so that sums do not hang on threads
    for (std::size_t i = 0; i < fields.size(); ++i) ranges[i].add(of_sample[i]);
  }
  return ranges;
}

}  // namespace paceline::dataset_tools
