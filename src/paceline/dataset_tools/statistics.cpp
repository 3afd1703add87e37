#include "paceline/dataset_tools/statistics.h"

#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/codec/image_decoder.h"
#include "paceline/data/codec/image_format.h"
#include "paceline/data/codec/jpeg_facts.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <numeric>

namespace paceline::dataset_tools {
namespace {

/// One sample's part.
struct Facts {
  std::string format;
  data::ImageSize size;
  double size_bytes = 0;
  std::string problem;  ///< or empty
};

Facts facts_of(const data::Dataset& dataset, std::int64_t index, data::StoredSample& sample,
               data::ImageDecoder& decoder) {
  Facts facts;
  try {
    dataset.get(index, sample);
    facts.size_bytes = static_cast<double>(sample.bytes.size());
    facts.size = sample.width != 0 ? data::ImageSize{sample.height, sample.width}
                                   : decoder.open(sample.bytes);
    facts.format = describe_format(sample);
  } catch (const base::DataError& error) {
    facts.problem = describe_problem(dataset, index, error.what());
  } catch (const std::bad_alloc&) {
    facts.problem = describe_problem(dataset, index, "there is not enough memory for it");
  }
  return facts;
}

void summarise(const std::vector<Facts>& all, DatasetStatistics& statistics) {
  std::vector<double> bytes, widths, heights, bits;
  for (const Facts& facts : all) {
    if (!facts.problem.empty()) {
      statistics.damaged.push_back(facts.problem);
      continue;
    }
    ++statistics.formats[facts.format];
    bytes.push_back(facts.size_bytes);
    widths.push_back(facts.size.width);
    heights.push_back(facts.size.height);
    if (facts.format != "pixels")
      bits.push_back(8 * facts.size_bytes / (widths.back() * heights.back()));
  }
  statistics.size_bytes = distribution_of(std::move(bytes));
  statistics.width = distribution_of(std::move(widths));
  statistics.height = distribution_of(std::move(heights));
  statistics.bits_per_pixel = distribution_of(std::move(bits));
}

}  // namespace

std::string describe_format(const data::StoredSample& sample) {
  if (sample.width != 0) return "pixels";
  const data::ImageFormat format = data::detect_format(sample.bytes);
  if (format != data::ImageFormat::kJpeg && format != data::ImageFormat::kUnknown)
    return name_of(format);
  return "JPEG " + data::describe_jpeg(sample.bytes).value_or("of an unknown kind");
}

Distribution distribution_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {values.front(), at(0.1),      at(0.5), sum / static_cast<double>(values.size()),
          at(0.9),        values.back()};
}

DatasetStatistics examine(const data::Dataset& dataset, std::int64_t num_examined, int num_threads,
                          const std::function<void(std::int64_t, std::int64_t)>& progress) {
  DatasetStatistics statistics;
  statistics.num_samples = dataset.size();
  statistics.class_sizes.resize(static_cast<std::size_t>(dataset.num_classes()));
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const auto label = static_cast<std::size_t>(dataset.label(i));
    if (label < statistics.class_sizes.size()) ++statistics.class_sizes[label];
  }

  const std::int64_t count =
      num_examined == 0 ? dataset.size() : std::min(num_examined, dataset.size());
  statistics.num_examined = count;
  std::vector<Facts> all(static_cast<std::size_t>(count));
  std::mutex mutex;
  std::int64_t done = 0;
  constexpr std::int64_t kPerPiece = 64;
  base::parallel_for((count + kPerPiece - 1) / kPerPiece, num_threads, [&](std::int64_t piece) {
    data::StoredSample sample;
    data::ImageDecoder decoder;
    const std::int64_t end = std::min(count, (piece + 1) * kPerPiece);
    std::vector<std::int64_t> indices;
    for (std::int64_t i = piece * kPerPiece; i < end; ++i)
      indices.push_back(i * dataset.size() / count);
    dataset.will_read(indices);
    for (std::int64_t i = piece * kPerPiece; i < end; ++i) {
      const std::int64_t index = indices[static_cast<std::size_t>(i - piece * kPerPiece)];
      all[static_cast<std::size_t>(i)] = facts_of(dataset, index, sample, decoder);
      if (!progress) continue;
      const std::lock_guard lock(mutex);
      progress(++done, count);
    }
  });
  summarise(all, statistics);
  return statistics;
}

}  // namespace paceline::dataset_tools
