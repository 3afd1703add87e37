#pragma once

#include "paceline/config/schema.h"
#include "paceline/tensor/torch.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace paceline::algorithms {

struct GhostBatchNormConfig {
  std::int64_t ghost_batch_size = 32;
};

/// Normalises parts of a batch for themselves: each nn::BatchNorm2d cuts a rank's microbatch of N
/// samples into ceil(N / ghost_batch_size) parts, all as large as the first but the last, and
/// normalises each by its own statistics. All of them move the running statistics, one after the
/// other, by the momentum divided by their number.
///
/// Evaluations see a plain BatchNorm, so weights mean the same with and without it: nothing is
/// recorded with them, and a run may be resumed with it or without. Norms whose statistics are
/// frozen stay as they are.
/// Paper: Hoffer et al., "Train longer, generalize better", NIPS 2017.
class GhostBatchNorm final : public train::Algorithm {
 public:
  explicit GhostBatchNorm(const GhostBatchNormConfig& config) : config_(config) {}

  std::string_view name() const override { return "ghost_batchnorm"; }
  train::AlgorithmTraits traits() const override {
    return {.events = {train::Event::kInit},
            .may_come_or_go = true,
            .least_samples = config_.ghost_batch_size};
  }
  /// Throws ConfigError where no norm of the network has statistics of its own batches.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;

 private:
  GhostBatchNormConfig config_;
};

/// Has every nn::BatchNorm2d below `module` whose statistics are not frozen normalise so, and
/// returns how many there are. Throws ConfigError, with nothing changed, for one that has a
/// training kernel already.
int set_ghost_batch_norm(torch::nn::Module& module, std::int64_t ghost_batch_size);

std::unique_ptr<train::Algorithm> make(const GhostBatchNormConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::GhostBatchNormConfig> {
  using Config = paceline::algorithms::GhostBatchNormConfig;
  static constexpr std::string_view name = "ghost_batchnorm";
  static constexpr std::string_view summary =
      "Has BatchNorms normalise parts of each batch for themselves.";
  static constexpr std::string_view paper = "Hoffer et al., 2017";
  static constexpr auto fields = std::tuple{
      field(&Config::ghost_batch_size, "ghost_batch_size",
            "The most samples that are normalised together; a rank's microbatch has no fewer.",
            AtLeast{1}, AtMost{1'000'000, "no batch is larger"})};
};
