#include "paceline/dataset_tools/verify.h"

#include "paceline/base/interruption.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/codec/image_decoder.h"
#include "paceline/data/dataset/read_hints.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace paceline::dataset_tools {
namespace {

constexpr std::int64_t kSamplesPerPiece = 64;

/// What one thread keeps from sample to sample.
struct Checker {
  data::StoredSample sample;
  data::ImageDecoder decoder;
  data::PixelBuffer pixels;
  bool holds_fields = false;

  /// What is wrong with a sample.
  std::optional<std::string> problem_of(const data::Dataset& dataset, std::int64_t index,
                                        bool decodes) {
    sample.bytes.clear();
    try {
      dataset.get(index, sample);
      if (holds_fields) return std::nullopt;  // of which any bytes are sound
      if (sample.width == 0 && decodes) decoder.decode(whole(decoder.open(sample.bytes)), pixels);
      return std::nullopt;
    } catch (const base::Interrupted&) {
      throw;
    } catch (const std::exception& error) {  // lack of memory for a giant, too
      return describe_problem(dataset, index, error.what());
    }
  }
};

std::vector<std::string> empty_classes(const data::Dataset& dataset) {
  std::vector<std::string> names = dataset.class_names();
  std::vector<bool> has_samples(names.size());
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const auto label = static_cast<std::size_t>(dataset.label(i));
    if (label < has_samples.size()) has_samples[label] = true;
  }
  std::size_t at = 0;
  std::erase_if(names, [&](const std::string&) { return has_samples[at++]; });
  return names;
}

}  // namespace

VerifyReport verify(const data::Dataset& dataset, bool decodes, int num_threads,
                    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  VerifyReport report;
  report.num_samples = dataset.size();
  std::mutex mutex;  // guards what follows
  std::vector<std::pair<std::int64_t, std::string>> damaged;
  std::int64_t done = 0;
  const std::int64_t pieces = (dataset.size() + kSamplesPerPiece - 1) / kSamplesPerPiece;
  base::parallel_for(pieces, num_threads, [&](std::int64_t piece) {
    Checker checker;
    checker.holds_fields = !dataset.stored_fields().empty();
    const std::int64_t end = std::min(dataset.size(), (piece + 1) * kSamplesPerPiece);
    will_read_range(dataset, piece * kSamplesPerPiece, end);
    for (std::int64_t i = piece * kSamplesPerPiece; i < end; ++i) {
      const std::optional<std::string> problem = checker.problem_of(dataset, i, decodes);
      const std::lock_guard lock(mutex);
      if (problem) damaged.emplace_back(i, *problem);
      report.size_bytes += checker.sample.bytes.size();
      if (progress) progress(++done, dataset.size());
    }
  });
  report.empty_classes = empty_classes(dataset);
  std::ranges::sort(damaged);
  for (auto& [index, problem] : damaged) report.damaged.push_back(std::move(problem));
  return report;
}

}  // namespace paceline::dataset_tools
