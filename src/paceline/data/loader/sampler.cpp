#include "paceline/data/loader/sampler.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/philox.h"
#include "paceline/base/text.h"
#include "paceline/data/loader/alias_table.h"
#include "paceline/data/loader/sample_order.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

namespace paceline::data {
namespace {

/// The seed of one permutation among many of an epoch.
std::uint64_t nested_seed(std::uint64_t seed, std::uint64_t epoch, std::uint64_t number) {
  base::Philox draws(seed, base::DrawPurpose::kNestedOrder, epoch, number);
  const base::Philox::Block words = draws.block(0);
  return (std::uint64_t{words[0]} << 32) | words[1];
}

class Shuffle : public Sampler {
 public:
  Shuffle(std::int64_t size, std::uint64_t seed) : size_(size), seed_(seed) {}
  std::int64_t places_per_epoch() const override { return size_; }
  std::int64_t at(std::uint64_t epoch, std::int64_t place) const override {
    return SampleOrder(seed_, epoch, size_).at(place);
  }
  void fill(std::uint64_t epoch, std::int64_t first,
            std::span<std::int64_t> samples) const override {
    SampleOrder(seed_, epoch, size_).fill(first, samples);
  }

 private:
  std::int64_t size_;
  std::uint64_t seed_;
};

class RepeatedAugmentation final : public Sampler {
 public:
  RepeatedAugmentation(std::int64_t size, std::uint64_t seed, int repeats)
      : shuffle_(size, seed), repeats_(repeats) {}
  std::int64_t places_per_epoch() const override { return shuffle_.places_per_epoch(); }
  std::int64_t at(std::uint64_t epoch, std::int64_t place) const override {
    return shuffle_.at(epoch, place / repeats_);
  }

 private:
  Shuffle shuffle_;
  int repeats_;
};

/// The samples behind the last whole block belong to the last window; the epoch begins at a drawn
/// place, so that they come early or late.
class BlockShuffle final : public Sampler {
 public:
  BlockShuffle(std::int64_t size, std::uint64_t seed, const BlockShuffleConfig& config)
      : size_(size),
        seed_(seed),
        block_(std::min(config.block_samples, size)),
        num_blocks_(size / block_),
        window_(std::min(config.window_blocks, num_blocks_)) {}

  std::int64_t places_per_epoch() const override { return size_; }

  std::int64_t at(std::uint64_t epoch, std::int64_t place) const override {
    const auto turn =
        static_cast<std::int64_t>(nested_seed(seed_, epoch, 0) % static_cast<std::uint64_t>(size_));
    const std::int64_t turned = (place + turn) % size_;
    const std::int64_t num_windows = std::max<std::int64_t>(1, num_blocks_ / window_);
    const std::int64_t window = std::min(turned / (window_ * block_), num_windows - 1);
    const std::int64_t begin = window * window_ * block_;
    const std::int64_t end = window + 1 == num_windows ? size_ : begin + window_ * block_;
    const SampleOrder within(nested_seed(seed_, epoch, 1 + static_cast<std::uint64_t>(window)), 0,
                             end - begin);
    return in_drawn_blocks(epoch, begin + within.at(turned - begin));
  }

 private:
  /// The sample at a place of the order that shuffles whole blocks only.
  std::int64_t in_drawn_blocks(std::uint64_t epoch, std::int64_t place) const {
    const std::int64_t block = place / block_;
    if (block >= num_blocks_) return place;
    return SampleOrder(seed_, epoch, num_blocks_).at(block) * block_ + place % block_;
  }

  std::int64_t size_;
  std::uint64_t seed_;
  std::int64_t block_;       ///< samples
  std::int64_t num_blocks_;  ///< whole ones
  std::int64_t window_;      ///< blocks
};

class ClassBalanced final : public Sampler {
 public:
  ClassBalanced(const Dataset& dataset, std::uint64_t seed) : seed_(seed) {
    if (dataset.num_classes() == 0)
      throw base::ConfigError("data.sampler: class_balanced needs a data set with classes");
    std::vector<std::vector<std::uint32_t>> members(
        static_cast<std::size_t>(dataset.num_classes()));
    PACELINE_CHECK(dataset.size() <= std::int64_t{UINT32_MAX}, "{} samples", dataset.size());
    for (std::int64_t i = 0; i < dataset.size(); ++i) {
      members[static_cast<std::size_t>(dataset.label(i))].push_back(static_cast<std::uint32_t>(i));
    }
    for (const std::vector<std::uint32_t>& of_class : members) {
      if (of_class.empty()) continue;  // nothing to draw from
      begins_.push_back(std::ssize(samples_));
      samples_.insert(samples_.end(), of_class.begin(), of_class.end());
    }
    begins_.push_back(std::ssize(samples_));
  }

  std::int64_t places_per_epoch() const override { return std::ssize(samples_); }

  std::int64_t at(std::uint64_t epoch, std::int64_t place) const override {
    const std::int64_t num_classes = std::ssize(begins_) - 1;
    const std::int64_t round = place / num_classes;
    const std::uint64_t rounds = nested_seed(seed_, epoch, 0);
    const std::uint64_t passes = nested_seed(seed_, epoch, 1);
    const SampleOrder classes(rounds, static_cast<std::uint64_t>(round), num_classes);
    const auto chosen = static_cast<std::size_t>(classes.at(place % num_classes));
    const std::int64_t size = begins_[chosen + 1] - begins_[chosen];
    const auto pass = static_cast<std::uint64_t>(round / size);
    const SampleOrder order(nested_seed(passes, pass, chosen), 0, size);
    return samples_[static_cast<std::size_t>(begins_[chosen] + order.at(round % size))];
  }

 private:
  std::uint64_t seed_;
  std::vector<std::uint32_t> samples_;  ///< by class
  std::vector<std::int64_t> begins_;    ///< of each class in samples_, and their end
};

class Weighted final : public Sampler {
 public:
  Weighted(const std::vector<double>& weights, std::uint64_t seed) : table_(weights), seed_(seed) {}
  std::int64_t places_per_epoch() const override { return table_.size(); }
  std::int64_t at(std::uint64_t epoch, std::int64_t place) const override {
    base::Philox draws(seed_, base::DrawPurpose::kSampleOrder, epoch,
                       static_cast<std::uint64_t>(place));
    const auto column =
        static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(table_.size())));
    return table_.choose(column, draws.uniform());
  }

 private:
  AliasTable table_;
  std::uint64_t seed_;
};

std::string read_text(const std::string& file) {
  try {
    return base::read_file(file);
  } catch (const base::FileError& error) {
    throw base::DataError(error.what());
  }
}

std::vector<double> read_weights(const std::string& file) {
  std::vector<double> weights;
  const std::vector<std::string> lines = base::split(base::trim(read_text(file)), '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view text = base::trim(lines[i]);
    double weight = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
    if (error != std::errc() || end != text.data() + text.size() || !(weight >= 0) ||
        std::isinf(weight)) {
      throw base::DataError(
          fmt::format("{}:{}: \"{}\": expected a weight, a number from 0 on", file, i + 1, text));
    }
    weights.push_back(weight);
  }
  return weights;
}

/// A weight for every sample.
std::vector<double> weights_of_samples(const std::string& file, const Dataset& dataset) {
  std::vector<double> weights = read_weights(file);
  const bool is_by_class = std::ssize(weights) == dataset.num_classes();
  if (std::ssize(weights) != dataset.size() && !is_by_class) {
    throw base::DataError(
        fmt::format("{}: {} weights; expected {}, one for each sample, or {}, one for each class",
                    file, weights.size(), dataset.size(), dataset.num_classes()));
  }
  if (is_by_class) {
    const std::vector<double> of_classes = std::move(weights);
    weights.clear();
    for (std::int64_t i = 0; i < dataset.size(); ++i)
      weights.push_back(of_classes[static_cast<std::size_t>(dataset.label(i))]);
  }
  if (std::ranges::all_of(weights, [](double weight) { return weight == 0; }))
    throw base::DataError(file + ": all samples have weight 0; expected one above it");
  return weights;
}

}  // namespace

std::int64_t Sampler::replacement(std::uint64_t seed, std::uint64_t epoch, std::int64_t place,
                                  int attempt) const {
  const std::int64_t other =
      SampleOrder(seed, epoch, places_per_epoch()).replacement(place, attempt);
  return at(epoch, other);
}

std::unique_ptr<Sampler> make(const ShuffleConfig&, const Dataset& dataset, std::uint64_t seed) {
  return std::make_unique<Shuffle>(dataset.size(), seed);
}

std::unique_ptr<Sampler> make(const BlockShuffleConfig& config, const Dataset& dataset,
                              std::uint64_t seed) {
  return std::make_unique<BlockShuffle>(dataset.size(), seed, config);
}

std::unique_ptr<Sampler> make(const RepeatedAugmentationConfig& config, const Dataset& dataset,
                              std::uint64_t seed) {
  return std::make_unique<RepeatedAugmentation>(dataset.size(), seed, config.repeats);
}

std::unique_ptr<Sampler> make(const ClassBalancedConfig&, const Dataset& dataset,
                              std::uint64_t seed) {
  return std::make_unique<ClassBalanced>(dataset, seed);
}

std::unique_ptr<Sampler> make(const WeightedConfig& config, const Dataset& dataset,
                              std::uint64_t seed) {
  if (config.file.empty())
    throw base::ConfigError("data.sampler.file is not set; weighted needs a file of weights");
  return std::make_unique<Weighted>(weights_of_samples(config.file, dataset), seed);
}

}  // namespace paceline::data
