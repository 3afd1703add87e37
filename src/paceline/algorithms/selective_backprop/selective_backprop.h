#pragma once

#include "paceline/algorithms/microbatch/index_sender.h"
#include "paceline/algorithms/microbatch/sample_group.h"
#include "paceline/config/schema.h"
#include "paceline/tensor/aten.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace paceline::algorithms {

struct SelectiveBackpropConfig {
  double start = 0.5;
  double end = 0.9;
  double keep = 0.5;
  double scale_factor = 1.0;
  std::int64_t interrupt = 2;
  std::optional<std::int64_t> group = {};  ///< samples of which some are kept; nothing: microbatch
};

/// Learns from those samples of a microbatch that the network finds hard. From `start` to `end`, as
/// shares of the run, and not in each `interrupt`-th step of an epoch, a forward pass without
/// gradients gives each sample's loss; int(keep * n) of n samples stay, drawn without replacement
/// with weights ((i + 0.5) / n)^(1 / keep - 1), where i is the loss's place among them.
///
/// The pass is one of training: BatchNorms move their statistics, and dropout draws. With
/// `scale_factor` below 1 it sees smaller images. Labels are the clean ones, whatever mixes samples
/// comes afterwards. The loss is the mean over what all ranks kept. Draws are keyed as Mixing's.
/// Paper: Jiang et al., "Accelerating deep learning by focusing on the biggest losers", 2019. The
/// numbers are Composer's.
class SelectiveBackprop final : public train::Algorithm {
 public:
  explicit SelectiveBackprop(const SelectiveBackpropConfig& config) : config_(config) {}

  std::string_view name() const override { return "selective_backprop"; }
  train::AlgorithmTraits traits() const override;
  /// Throws ConfigError, at kInit, for a task or a loss without values per sample.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  void transform(train::Batch& microbatch, train::TrainState& state,
                 const train::RunContext& run) override;
  void transform_nothing(const train::Batch& microbatch, train::TrainState& state,
                         const train::RunContext& run) override;
  std::int64_t num_kept(std::int64_t size, const train::Clock& clock) const override;
  std::uint64_t copied_bytes(const train::TrainState& state,
                             const train::FieldBytes& field_bytes) const override;
  /// The share of samples that stay in the step at hand.
  std::vector<double> scalars() const override { return {share_}; }

 private:
  bool selects(const train::Clock& clock) const;
  at::Tensor losses(const train::Batch& microbatch, train::TrainState& state,
                    const train::RunContext& run) const;

  SelectiveBackpropConfig config_;
  bool is_forward_collective_ = false;
  double share_ = 1.0;
  IndexSender sender_;
};

/// Whether samples are selected in the step after `elapsed`, a share of the run.
bool selects_samples(const SelectiveBackpropConfig& config, double elapsed,
                     std::int64_t batch_in_epoch);

/// The weights with which samples are drawn, by the places of their losses; not normalised.
std::vector<double> selection_weights(std::int64_t size, double keep);

/// So many different numbers below weights.size(), one after the other by these weights.
std::vector<std::int64_t> draw_places(const std::vector<double>& weights, std::int64_t count,
                                      base::Philox draws);

/// The samples at these places, counted from the least of the losses [n] on.
at::Tensor rows_at(const at::Tensor& places, const at::Tensor& losses);

/// [N, C, H, W] with sides that are a share of theirs, rounded down: as
/// torch.nn.functional.interpolate(scale_factor, mode="bilinear") makes them.
at::Tensor smaller_images(const at::Tensor& images, double scale_factor);

std::unique_ptr<train::Algorithm> make(const SelectiveBackpropConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::SelectiveBackpropConfig> {
  using Config = paceline::algorithms::SelectiveBackpropConfig;
  static constexpr std::string_view name = "selective_backprop";
  static constexpr std::string_view summary =
      "Learns from the samples that have the largest losses.";
  static constexpr std::string_view paper = "Jiang et al., 2019";
  static constexpr auto fields = std::tuple{
      field(&Config::start, "start", "The share of the run at which it begins.", InRange{0, 1}),
      field(&Config::end, "end", "The share of the run at which it ends.", InRange{0, 1}),
      field(&Config::keep, "keep", "Which share of the samples is learnt from.", MoreThan{0},
            AtMost{1, "there are no more samples"}),
      field(&Config::scale_factor, "scale_factor",
            "Sides of the images that the choice is made by, as a share of theirs.", MoreThan{0},
            AtMost{1, "larger images show no more"}),
      field(&Config::interrupt, "interrupt",
            "Each so many-th step of an epoch learns from all samples; 0: none does.", AtLeast{0},
            AtMost{1'000'000'000, "no epoch has more steps"}),
      algorithms::group_field<Config>()};

  static void validate(const Config& value, Problems& problems) {
    if (value.end <= value.start) problems.add("end", "must come after start");
    if (value.interrupt == 1)
      problems.add("interrupt", "is 1, so every step would learn from all samples");
  }
};
