#include "paceline/data/sources/synthetic.h"

#include "paceline/base/philox.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace paceline::data {
namespace {

// Each sample is cut from the same noise at another offset.
constexpr std::uint64_t kOffsets = 4096;

}  // namespace

SyntheticDataset::SyntheticDataset(std::int64_t num_samples, int num_classes, int image_size,
                                   std::int64_t first)
    : num_samples_(num_samples), num_classes_(num_classes), image_size_(image_size), first_(first) {
  base::Philox draws(0, base::DrawPurpose::kSynthesis, 0, 0);
  noise_.resize(static_cast<std::size_t>(image_size) * static_cast<std::size_t>(image_size) * 3 +
                kOffsets);
  for (std::uint8_t& value : noise_) value = static_cast<std::uint8_t>(draws.next() >> 25);
}

std::vector<std::string> SyntheticDataset::class_names() const {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(num_classes_));
  for (int i = 0; i < num_classes_; ++i) names.push_back(fmt::format("class_{}", i));
  return names;
}

std::int64_t SyntheticDataset::label(std::int64_t index) const {
  return (first_ + index) % num_classes_;
}

void SyntheticDataset::get(std::int64_t index, StoredSample& sample) const {
  const std::size_t row_bytes = static_cast<std::size_t>(image_size_) * 3;
  const auto number = static_cast<std::uint64_t>(first_ + index);
  const std::uint8_t* noise = noise_.data() + number * 2654435761u % kOffsets;
  sample.label = label(index);
  sample.width = image_size_;
  sample.height = image_size_;
  sample.bytes.resize(row_bytes * static_cast<std::size_t>(image_size_));
  std::uint8_t* out = sample.bytes.data();
  const double waves = static_cast<double>(sample.label + 1) / image_size_;
  for (int y = 0; y < image_size_; ++y) {
    const double level = 64 + 63 * std::sin(2 * std::numbers::pi * waves * y);
    const auto added = static_cast<std::uint8_t>(level);
    for (std::size_t i = 0; i < row_bytes; ++i)
      out[i] = static_cast<std::uint8_t>(noise[i] + added);
    out += row_bytes;
    noise += row_bytes;
  }
}

std::string SyntheticDataset::describe(std::int64_t index) const {
  return fmt::format("synthetic sample {}", first_ + index);
}

std::string SyntheticDataset::fingerprint() const {
  return fmt::format("synthetic:{}:{}:{}:{}", first_, num_samples_, num_classes_, image_size_);
}

std::unique_ptr<Dataset> open(const SyntheticConfig& config, Split split,
                              const std::shared_ptr<const Storage>& /*storage*/) {
  const bool is_training = split == Split::kTrain;
  return std::make_unique<SyntheticDataset>(
      is_training ? config.num_samples : config.num_val_samples, config.num_classes, config.size,
      is_training ? 0 : config.num_samples);
}

std::unique_ptr<DatasetPlan> make(const SyntheticConfig& config) {
  return plan_of(config, small_image_transforms(config.size));
}

}  // namespace paceline::data
