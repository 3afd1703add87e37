#pragma once

#include "paceline/config/duration.h"
#include "paceline/tensor/state_shard.h"
#include "paceline/train/clock.h"
#include "paceline/train/event.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace paceline::base {
class FileSystem;  // base/file.h
}  // namespace paceline::base

namespace paceline::train {

struct Batch;
struct TrainState;
struct RunContext;

struct AlgorithmTraits {
  EventSet events;                  ///< when apply() is called
  int order = 0;                    ///< lower runs first on before-events and last on after-events
  bool replaces_loss = false;       ///< at most one active algorithm may say so
  bool takes_extra_passes = false;  ///< likewise
  bool has_weights = false;         ///< of its own, which evaluations measure besides
  /// With has_weights: evaluations measure them in place of the trained ones, and whoever opens a
  /// checkpoint gets them unless he asks for others. At most one active algorithm may say so.
  bool stands_for_weights = false;
  bool transforms_batches = false;  ///< transform() is called
  bool changes_network = false;     ///< at kInit, as changed_layers() tells afterwards
  /// It asks for kAfterOptimizerStep or kStepEnd, and writes no weights there.
  bool leaves_weights = false;
  bool may_come_or_go = false;     ///< where a run is resumed: it begins, or ends, in the middle
  std::int64_t least_samples = 0;  ///< of a rank's microbatch, unless it has none
  std::vector<std::string_view> scalars = {};  ///< what scalars() gives
};

/// Names of layers in a network, by what they are: {"convolutions": {"layer2.0.conv2"}}.
using LayerNames = std::map<std::string, std::vector<std::string>>;

/// Bytes of the fields of a rank's share of a step's batch, by name.
using FieldBytes = std::map<std::string, std::uint64_t, std::less<>>;

/// Whose gradients a pass sums.
enum class PassSum { kOfThisRank, kOfAllRanks };

/// Changes the run. It gets TrainState&, so the compiler knows that it may.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual std::string_view name() const = 0;
  virtual AlgorithmTraits traits() const = 0;
  /// The metrics of an evaluation that it looks at, by the key of its options that names them.
  virtual std::map<std::string, std::string> metrics_in_use() const { return {}; }
  /// Before all events: the algorithms of the run, this one among them, as what it does may hang on
  /// another. Returns what the banner should tell of that; empty: nothing. Throws ConfigError for
  /// one that it cannot go with.
  virtual std::string meet(std::span<const std::unique_ptr<Algorithm>> /*all*/) { return {}; }
  /// Every rank must reach the same decisions.
  virtual void apply(Event event, TrainState& state, const RunContext& run) = 0;
  /// Instead of a pass's events (kBeforeForward to kAfterBackward), on a rank that a ragged batch
  /// left without samples: the same collectives as apply() has there.
  virtual void forward_nothing() {}
  /// Changes a microbatch of the step at hand, which all passes of the step then see: called once
  /// for each that has samples, after kStepStart and outside autocast and what train.compile
  /// records, in the order of AlgorithmTraits::order. Draws are keyed by step and
  /// Batch::first_position. Fields may be replaced or added (`targets` are what the loss sees),
  /// their memory is the loader's and is not written; `labels` stay as they are. Samples may get
  /// fewer, by keep_samples(), if num_kept() says so; the loss then weighs what is left of the
  /// whole global batch. Must not wait for the device.
  virtual void transform(Batch& /*microbatch*/, TrainState& /*state*/, const RunContext& /*run*/) {}
  /// Instead of transform() for a microbatch of which a ragged batch left this rank no samples: the
  /// same collectives.
  virtual void transform_nothing(const Batch& /*microbatch*/, TrainState& /*state*/,
                                 const RunContext& /*run*/) {}
  /// How many of a microbatch's `size` samples transform() leaves, at least one. Of these arguments
  /// alone: by it every rank knows what the others keep, without asking.
  virtual std::int64_t num_kept(std::int64_t size, const Clock& /*clock*/) const { return size; }
  /// With AlgorithmTraits::changes_network, from kInit on: what it changed. Checkpoints and exports
  /// record it with the algorithm's name and options, and the network is rebuilt by that record.
  virtual LayerNames changed_layers() const { return {}; }
  /// A pass of forward and backward over the whole batch that the step at hand needs before its
  /// own. Its loss and metrics are not counted. The same on every rank.
  virtual std::optional<PassSum> extra_pass(const TrainState& /*state*/) const { return {}; }
  /// After that pass, whose gradients the strategy holds: may move the weights until
  /// kGradientsReady. Returns 1 (a float32 scalar beside them) if this rank finds that the step
  /// must be skipped, else 0. Must not wait for the device.
  virtual at::Tensor after_extra_pass(TrainState& /*state*/) { return {}; }
  /// Numbers of the step at hand, one for each name of AlgorithmTraits::scalars, which are logged
  /// as ALGORITHM/SCALAR: the mean over the samples of all ranks. Asked after the last forward
  /// pass, on every rank; one without samples may give anything.
  virtual std::vector<double> scalars() const { return {}; }
  /// Tensors of its own, from kPrepared on, which are saved and loaded with the run. Their names
  /// begin with tensor::kAlgorithms, its own name and '/'.
  virtual std::vector<tensor::StateShard> tensors(const TrainState& /*state*/) const { return {}; }
  /// Bytes that it holds besides them while the activations of a microbatch are there, such as
  /// copies of weights or images. For predictions of memory. Asked after kPrepared.
  virtual std::uint64_t copied_bytes(const TrainState& /*state*/,
                                     const FieldBytes& /*field_bytes*/) const {
    return 0;
  }
  /// Whether its weights are others than the trained ones yet.
  virtual bool has_weights() const { return false; }
  /// Exchanges them with the trained ones, bit for bit. Called before and after an evaluation of
  /// them, on every rank.
  virtual void swap_weights(TrainState& /*state*/) {}
  /// What the algorithm must remember to go on as if never stopped: nothing, as an empty object.
  virtual nlohmann::json state_dict() const;
  virtual void load_state_dict(const nlohmann::json& /*state*/) {}
};

/// Whether weights are at the end of a step what the optimizer made of them, as far as other
/// algorithms than `self` are concerned.
bool others_leave_weights(std::span<const std::unique_ptr<Algorithm>> all, const Algorithm& self);

/// Has an algorithm's weights be those that the strategy holds until it goes.
class SwappedWeights {
 public:
  SwappedWeights(Algorithm& algorithm, TrainState& state) : algorithm_(algorithm), state_(state) {
    algorithm_.swap_weights(state_);
  }
  ~SwappedWeights() { algorithm_.swap_weights(state_); }
  SwappedWeights(const SwappedWeights&) = delete;
  SwappedWeights& operator=(const SwappedWeights&) = delete;

 private:
  Algorithm& algorithm_;
  TrainState& state_;
};

struct CallbackTraits {
  EventSet events;  ///< when on_event() is called
  /// Of the events of steps and epochs (kEpochStart to kEpochEnd, and kSafePoint) only those of
  /// every so many-th step; of 2ep: of each second epoch's last step. Not wall-clock time.
  std::optional<config::Duration> every = {};
  std::vector<std::string_view> step_scalars = {};  ///< what scalars(kStepEnd) gives
  std::vector<std::string_view> eval_scalars = {};  ///< what scalars(kEvaluated) gives

  /// Whether on_event() is called for this event as the clock stands.
  bool includes(Event event, const Clock& clock) const;
};

/// Watches the run. Its answer may ask for the end of training; every rank must give the same one.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual std::string_view name() const = 0;
  virtual CallbackTraits traits() const = 0;
  /// The metrics of an evaluation that it looks at, by the key of its options that names them.
  virtual std::map<std::string, std::string> metrics_in_use() const { return {}; }
  /// Returns why training should stop at this safe point, or nothing.
  virtual std::optional<std::string> on_event(Event event, const TrainState& state,
                                              const RunContext& run) = 0;
  /// Numbers of its own for the row of the step that ends (kStepEnd; of those that
  /// CallbackTraits::every leaves) or of the evaluation (kEvaluated), one for each name in its
  /// traits, logged as CALLBACK/SCALAR. Asked after all on_event() of that event; rank 0's are
  /// logged. NaN: none this time.
  virtual std::vector<double> scalars(Event /*event*/) const { return {}; }
  /// A checkpoint lies whole on disk, and those that it replaces still do. On rank 0, in the order
  /// of saves, perhaps by a thread of its own; what it throws is told and ends nothing.
  virtual void on_saved(const std::filesystem::path& /*checkpoint*/, base::FileSystem& /*files*/) {}
  /// As Algorithm's.
  virtual nlohmann::json state_dict() const;
  virtual void load_state_dict(const nlohmann::json& /*state*/) {}
};

}  // namespace paceline::train
