#pragma once

#include "paceline/algorithms/mixup/mixture.h"
#include "paceline/config/schema.h"
#include "paceline/tensor/device.h"
#include "paceline/train/algorithm.h"
#include "paceline/train/batch/batch.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::algorithms {

/// What a microbatch is mixed by.
struct MixedBy {
  std::vector<Mixture> mixtures;
  at::Tensor partners;  ///< as write_partners(), beside the batch
};

/// The images of a batch, mixed. Throws ConfigError if it has none.
void mix_images(train::Batch& batch, const MixedBy& by);

/// Gives a batch mixed targets, probabilities in float32, of the targets or labels that it has.
void mix_targets(train::Batch& batch, std::int64_t num_classes, const MixedBy& by);

/// The loss at hand with that for the partners' targets, both by the first mixture's share.
void mix_losses(train::TrainState& state, const MixedBy& by);

/// Mixes each image with another one of its microbatch, and what it is learnt as alike: the targets
/// (`targets` of the batch, probabilities in float32), or with `interpolate_loss` the losses for
/// both. Metrics count by the sample's own label.
///
/// Draws are of seed, step and the place of the microbatch's first sample in the global order
/// alone: where N * A divides the global batch, N ranks with A microbatches equal one rank with N *
/// A, and nothing has to be saved. With `group` the same
/// on any ranks and microbatches whose sizes it divides. Paper: Zhang et al., "mixup: Beyond
/// empirical risk minimization", ICLR 2018.
class Mixup final : public train::Algorithm {
 public:
  explicit Mixup(const MixupConfig& config) : config_(config) {}

  std::string_view name() const override { return "mixup"; }
  train::AlgorithmTraits traits() const override {
    using enum train::Event;
    return {.events = config_.interpolate_loss ? train::EventSet{kPrepared, kStepStart, kAfterLoss}
                                               : train::EventSet{kPrepared, kStepStart},
            .replaces_loss = config_.interpolate_loss,
            .transforms_batches = true,
            .may_come_or_go = true,
            .scalars = {"lambda"}};
  }
  /// The mixed images: the loader's stay as they are.
  std::uint64_t copied_bytes(const train::TrainState& state,
                             const train::FieldBytes& field_bytes) const override;
  /// What samples keep of themselves.
  std::vector<double> scalars() const override { return {kept_ / num_mixed_}; }
  /// Throws ConfigError for a task that is no classification, and unless losses are mixed for a
  /// loss that takes no probabilities, and for a network that does not tell how many classes it
  /// has.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  /// Throws ConfigError for a batch without images.
  void transform(train::Batch& batch, train::TrainState& state,
                 const train::RunContext& run) override;

 private:
  MixedBy draw(const train::Batch& batch, std::int64_t step, const train::RunContext& run);
  /// The partners in memory of the device.
  at::Tensor send_partners(std::span<const Mixture> mixtures, std::int64_t size,
                           tensor::Device& device);

  MixupConfig config_;
  std::int64_t num_classes_ = 0;
  /// Of this step's microbatches, by their first position, where losses are mixed.
  std::map<std::int64_t, MixedBy> mixed_;
  /// Of this step's microbatches: host memory, kept from step to step, and its copies on their way.
  /// To free one before the device has read it would be a wait.
  std::vector<at::Tensor> rows_;
  std::vector<std::unique_ptr<tensor::Transfer>> transfers_;
  double kept_ = 0;       ///< 1 - share, summed over this step's samples
  double num_mixed_ = 0;  ///< these
};

std::unique_ptr<train::Algorithm> make(const MixupConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::Partner> {
  static constexpr std::array names{
      EnumName{paceline::algorithms::Partner::kPermutation, "permutation"},
      EnumName{paceline::algorithms::Partner::kReversed, "reversed"},
      EnumName{paceline::algorithms::Partner::kRolled, "rolled"}};
};

template <>
struct paceline::config::Schema<paceline::algorithms::MixupConfig> {
  using Config = paceline::algorithms::MixupConfig;
  static constexpr std::string_view name = "mixup";
  static constexpr std::string_view summary =
      "Mixes each image, and what it is learnt as, with another one of its microbatch.";
  static constexpr std::string_view paper = "Zhang et al., 2018";
  static constexpr auto fields = std::tuple{
      field(&Config::alpha, "alpha",
            "The share that is mixed in is of Beta(alpha, alpha); 0 mixes nothing.", AtLeast{0},
            AtMost{1e6, "every share would be a half"}),
      field(&Config::fold, "fold",
            "At most a half is mixed in, so that a sample's own label counts most (as Composer); "
            "false: any share (as timm and torchvision)."),
      field(
          &Config::partner, "partner",
          "permutation: drawn (as Composer); reversed: the last with the first (as timm); rolled: "
          "with the one before (as torchvision)."),
      field(&Config::interpolate_loss, "interpolate_loss",
            "Mix the losses for both targets instead of the targets, for a loss that takes class "
            "indices only."),
      field(&Config::group, "group",
            "So many consecutive samples share a draw, so that ranks and microbatches of any size "
            "that it divides give the same; null: the microbatch.",
            AtLeast{1}, AtMost{1'000'000, "no microbatch is as large"})};
  static void validate(const Config& config, Problems& problems) {
    if (config.interpolate_loss && config.group)
      problems.add("interpolate_loss",
                   "mixes the loss of a whole microbatch, and group draws a share for parts of it: "
                   "leave one of them out");
  }
};
