#pragma once

#include "paceline/algorithms/microbatch/index_sender.h"
#include "paceline/algorithms/mixing/mixture.h"
#include "paceline/algorithms/mixing/turns.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace paceline::algorithms {

/// What a microbatch is mixed by.
struct MixedBy {
  std::vector<Mixture> mixtures;
  at::Tensor partners;  ///< partner_rows() beside the batch; undefined: nothing is mixed
};

/// Gives a batch mixed targets, probabilities in float32, of the targets or labels that it has.
void mix_targets(train::Batch& batch, std::int64_t num_classes, const MixedBy& by);

/// The loss at hand with that for the partners' targets, both by the first mixture's share.
void mix_losses(train::TrainState& state, const MixedBy& by);

/// Mixes each image with another one of its microbatch, and what it is learnt as alike: the targets
/// (`targets` of the batch, probabilities in float32), or with `interpolate_loss` the losses for
/// both. Metrics count by the sample's own label. How images are mixed, derived classes say.
///
/// Draws are of seed, step and the place of the microbatch's first sample in the global order
/// alone: where N * A divides the global batch, N ranks with A microbatches equal one rank with N *
/// A, and nothing has to be saved. With `group` the same on any ranks and microbatches whose sizes
/// it divides.
class Mixing : public train::Algorithm {
 public:
  train::AlgorithmTraits traits() const final;
  /// The mixed images: the loader's stay as they are.
  std::uint64_t copied_bytes(const train::TrainState& state,
                             const train::FieldBytes& field_bytes) const final;
  /// What samples keep of themselves.
  std::vector<double> scalars() const final { return {kept_ / num_seen_}; }
  /// Throws ConfigError for a task that is no classification, and unless losses are mixed for a
  /// loss that takes no probabilities, and for a network that does not tell how many classes it
  /// has.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) final;
  /// Throws ConfigError for a batch without images.
  void transform(train::Batch& batch, train::TrainState& state, const train::RunContext& run) final;

  /// Mixes from here on what has_turn() says, and leaves the rest to another one.
  void take_turns(Turns turns, TurnOf which);

 protected:
  struct Options {
    int order = 0;
    bool interpolate_loss = false;
    std::optional<std::int64_t> group = {};
  };
  explicit Mixing(const Options& options) : options_(options) {}

 private:
  virtual Mixture draw(const SampleGroup& group, const at::Tensor& images) const = 0;
  virtual at::Tensor mixed(const at::Tensor& images, const MixedBy& by) const = 0;

  /// Draws the mixtures, without partners beside the batch if none is this one's turn.
  MixedBy draw_all(const train::Batch& batch, std::int64_t step, const train::RunContext& run);

  Options options_;
  Turns turns_ = Turns::kSequential;
  TurnOf turn_of_ = TurnOf::kFirst;
  std::int64_t num_classes_ = 0;
  /// Of this step's microbatches, by their first position, where losses are mixed.
  std::map<std::int64_t, MixedBy> mixed_;
  IndexSender sender_;
  double kept_ = 0;      ///< 1 - share, summed over this step's samples
  double num_seen_ = 0;  ///< these
};

}  // namespace paceline::algorithms
