#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace paceline::data {

/// Which sample of the data set stands at each place of a training epoch. A function of the seed,
/// the epoch and the place alone, so that neither ranks nor threads nor where a run was resumed
/// matter. Immutable; any thread may ask.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual std::int64_t places_per_epoch() const = 0;
  /// 0 <= place < places_per_epoch(). O(1).
  virtual std::int64_t at(std::uint64_t epoch, std::int64_t place) const = 0;
  /// The sample that stands in for that of a place when it and attempt - 1 stand-ins could not be
  /// read; attempt >= 1. Drawn by the law that the epoch's samples are drawn by: that of another
  /// place of the same epoch.
  std::int64_t replacement(std::uint64_t seed, std::uint64_t epoch, std::int64_t place,
                           int attempt) const;
  /// The samples of the places from `first` on, all of one epoch; may be faster than one by one.
  virtual void fill(std::uint64_t epoch, std::int64_t first,
                    std::span<std::int64_t> samples) const {
    for (std::int64_t& sample : samples) sample = at(epoch, first++);
  }
};

/// Every sample once an epoch, in a uniformly drawn order.
struct ShuffleConfig {};

/// Every sample once an epoch. The data set is cut into blocks of neighbouring samples; their order
/// is drawn, and the samples of `window_blocks` blocks that follow each other are shuffled among
/// themselves; the last window also takes the rest, less than another window. A source that is read
/// in large pieces thus needs that many of them at a time.
struct BlockShuffleConfig {
  std::int64_t block_samples = 64;
  std::int64_t window_blocks = 64;
};

/// The samples of a shuffled epoch, each `repeats` times in a row with other augmentations; as many
/// places as there are samples, so that an epoch sees one of `repeats` samples. Paper: Hoffer et
/// al., "Augment your batch", CVPR 2020.
struct RepeatedAugmentationConfig {
  int repeats = 3;
};

/// All classes equally often: each run of num_classes places holds each class once, in a drawn
/// order; a class's samples come in shuffled passes. As many places as there are samples.
struct ClassBalancedConfig {};

/// Samples drawn independently, with replacement, by weight, as torch's WeightedRandomSampler does;
/// as many places as there are samples.
struct WeightedConfig {
  std::string file;
};

/// The data set need not outlive the sampler. Throw ConfigError and DataError for what cannot work.
std::unique_ptr<Sampler> make(const ShuffleConfig& config, const Dataset& dataset,
                              std::uint64_t seed);
std::unique_ptr<Sampler> make(const BlockShuffleConfig& config, const Dataset& dataset,
                              std::uint64_t seed);
std::unique_ptr<Sampler> make(const RepeatedAugmentationConfig& config, const Dataset& dataset,
                              std::uint64_t seed);
std::unique_ptr<Sampler> make(const ClassBalancedConfig& config, const Dataset& dataset,
                              std::uint64_t seed);
std::unique_ptr<Sampler> make(const WeightedConfig& config, const Dataset& dataset,
                              std::uint64_t seed);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ShuffleConfig> {
  using Config = data::ShuffleConfig;
  static constexpr std::string_view name = "shuffle";
  static constexpr std::string_view summary = "Every sample once an epoch, in random order.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{};
};

template <>
struct paceline::config::Schema<paceline::data::BlockShuffleConfig> {
  using Config = data::BlockShuffleConfig;
  static constexpr std::string_view name = "block_shuffle";
  static constexpr std::string_view summary =
      "Every sample once an epoch; neighbours in the source stay near each other, for sources that "
      "are read in large pieces.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::block_samples, "block_samples", "Neighbouring samples that are read together.",
            AtLeast{1}, AtMost{1'000'000'000, "no block is larger"}),
      field(&Config::window_blocks, "window_blocks",
            "Blocks whose samples are shuffled among each other.", AtLeast{1},
            AtMost{1'000'000, "no window is larger"})};
};

template <>
struct paceline::config::Schema<paceline::data::RepeatedAugmentationConfig> {
  using Config = data::RepeatedAugmentationConfig;
  static constexpr std::string_view name = "repeated_augmentation";
  static constexpr std::string_view summary =
      "Each sample several times in a batch, augmented differently.";
  static constexpr std::string_view paper = "Hoffer et al., CVPR 2020";
  static constexpr auto fields =
      std::tuple{field(&Config::repeats, "repeats", "How often each sample comes in a row.",
                       AtLeast{1}, AtMost{1000, "as many copies of an image in a row"})};
};

template <>
struct paceline::config::Schema<paceline::data::ClassBalancedConfig> {
  using Config = data::ClassBalancedConfig;
  static constexpr std::string_view name = "class_balanced";
  static constexpr std::string_view summary = "All classes equally often, whatever their sizes.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{};
};

template <>
struct paceline::config::Schema<paceline::data::WeightedConfig> {
  using Config = data::WeightedConfig;
  static constexpr std::string_view name = "weighted";
  static constexpr std::string_view summary =
      "Samples drawn with replacement, in proportion to weights.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields =
      std::tuple{field(&Config::file, "file",
                       "Text file of weights, one a line: of every class, by label, or of every "
                       "sample, in the data set's order.",
                       Path{})};
};
