#include "paceline/app/evaluation/eval_details.h"

#include "paceline/metrics/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace paceline::app {
namespace {

/// Calls `use` for each sample that has a label.
template <class Use>
void for_labelled(const train::SampleRecords& records, const Use& use) {
  for (std::int64_t row = 0; row < records.indices.numel(); ++row) {
    const SampleFacts sample = sample_at(records, row);
    if (sample.label >= 0) use(sample);
  }
}

template <class Value>
void keep_first(std::vector<Value>& values, std::int64_t most) {
  if (std::ssize(values) > most) values.resize(static_cast<std::size_t>(most));
}

}  // namespace

SampleFacts sample_at(const train::SampleRecords& records, std::int64_t row) {
  const std::int64_t first = row * records.classes.size(1);
  return {records.indices.const_data_ptr<std::int64_t>()[row],
          records.labels.const_data_ptr<std::int64_t>()[row],
          records.classes.const_data_ptr<std::int64_t>()[first],
          records.probabilities.const_data_ptr<double>()[first],
          records.losses.const_data_ptr<double>()[row]};
}

std::vector<Confusion> top_confusions(const train::SampleRecords& records, std::int64_t most) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts;
  for_labelled(records, [&](const SampleFacts& sample) {
    if (!sample.is_right()) ++counts[{sample.label, sample.told}];
  });
  std::vector<Confusion> confusions;
  for (const auto& [pair, count] : counts) confusions.push_back({pair.first, pair.second, count});
  std::ranges::stable_sort(confusions, std::greater<>(), &Confusion::count);
  keep_first(confusions, most);
  return confusions;
}

std::vector<std::vector<std::int64_t>> confusion_matrix(const train::SampleRecords& records,
                                                        std::int64_t num_classes) {
  const auto size = static_cast<std::size_t>(num_classes);
  std::vector<std::vector<std::int64_t>> matrix(size, std::vector<std::int64_t>(size));
  for_labelled(records, [&](const SampleFacts& sample) {
    ++matrix.at(static_cast<std::size_t>(sample.label)).at(static_cast<std::size_t>(sample.told));
  });
  return matrix;
}

std::vector<std::int64_t> worst_classes(const std::vector<metrics::ClassCount>& classes,
                                        std::int64_t most) {
  std::vector<std::int64_t> labels;
  const auto of = [&](std::int64_t label) { return classes[static_cast<std::size_t>(label)]; };
  for (std::int64_t label = 0; label < std::ssize(classes); ++label) {
    if (of(label).samples > 0) labels.push_back(label);
  }
  std::ranges::stable_sort(labels, {}, [&](std::int64_t label) {
    return std::pair(of(label).recall(), -of(label).samples);
  });
  keep_first(labels, most);
  return labels;
}

std::vector<SampleFacts> worst_samples(const train::SampleRecords& records, std::int64_t most) {
  std::vector<SampleFacts> samples;
  for_labelled(records, [&](const SampleFacts& sample) { samples.push_back(sample); });
  std::ranges::stable_sort(samples, std::greater<>(), &SampleFacts::loss);
  keep_first(samples, most);
  return samples;
}

std::vector<CalibrationBin> calibration_bins(const train::SampleRecords& records) {
  constexpr std::int64_t kBins = metrics::kCalibrationBins;
  std::vector<CalibrationBin> bins(static_cast<std::size_t>(kBins));
  for_labelled(records, [&](const SampleFacts& sample) {
    const auto place = static_cast<std::int64_t>(std::floor(sample.probability * kBins));
    CalibrationBin& bin =
        bins[static_cast<std::size_t>(std::clamp<std::int64_t>(place, 0, kBins - 1))];
    ++bin.samples;
    bin.confidence += sample.probability;
    bin.accuracy += sample.is_right() ? 1 : 0;
  });
  for (std::size_t i = 0; i < bins.size(); ++i) {
    CalibrationBin& bin = bins[i];
    bin.from = static_cast<double>(i) / kBins;
    bin.to = static_cast<double>(i + 1) / kBins;
    if (bin.samples == 0) continue;
    bin.confidence /= static_cast<double>(bin.samples);
    bin.accuracy /= static_cast<double>(bin.samples);
  }
  return bins;
}

double calibration_error(const std::vector<CalibrationBin>& bins) {
  double difference = 0;
  double samples = 0;
  for (const CalibrationBin& bin : bins) {
    difference += static_cast<double>(bin.samples) * std::abs(bin.confidence - bin.accuracy);
    samples += static_cast<double>(bin.samples);
  }
  return samples > 0 ? difference / samples : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace paceline::app
