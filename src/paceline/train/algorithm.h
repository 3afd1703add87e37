#pragma once

#include "paceline/base/file.h"
#include "paceline/tensor/state_shard.h"
#include "paceline/train/event.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace paceline::train {

struct TrainState;
struct RunContext;

struct AlgorithmTraits {
  EventSet events;                  ///< when apply() is called
  int order = 0;                    ///< lower runs first on before-events and last on after-events
  bool replaces_loss = false;       ///< at most one active algorithm may say so
  bool takes_extra_passes = false;  ///< likewise
  bool has_weights = false;         ///< of its own, which evaluations measure besides
  std::vector<std::string_view> scalars = {};  ///< what scalars() gives
};

/// Whose gradients a pass sums.
enum class PassSum { kOfThisRank, kOfAllRanks };

/// Changes the run. It gets TrainState&, so the compiler knows that it may.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual std::string_view name() const = 0;
  virtual AlgorithmTraits traits() const = 0;
  /// Every rank must reach the same decisions.
  virtual void apply(Event event, TrainState& state, const RunContext& run) = 0;
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
  /// Whether its weights are others than the trained ones yet.
  virtual bool has_weights() const { return false; }
  /// Exchanges them with the trained ones, bit for bit. Called before and after an evaluation of
  /// them, on every rank.
  virtual void swap_weights(TrainState& /*state*/) {}
  /// What the algorithm must remember to go on as if never stopped: nothing, as an empty object.
  virtual nlohmann::json state_dict() const;
  virtual void load_state_dict(const nlohmann::json& /*state*/) {}
};

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

/// Watches the run. Its answer may ask for the end of training; every rank must give the same one.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual std::string_view name() const = 0;
  virtual EventSet events() const = 0;
  /// The metrics of an evaluation that it looks at, by the key of its options that names them.
  virtual std::map<std::string, std::string> metrics_in_use() const { return {}; }
  /// Returns why training should stop at this safe point, or nothing.
  virtual std::optional<std::string> on_event(Event event, const TrainState& state,
                                              const RunContext& run) = 0;
  /// A checkpoint lies whole on disk, and those that it replaces still do. On rank 0, in the order
  /// of saves, perhaps by a thread of its own; what it throws is told and ends nothing.
  virtual void on_saved(const std::filesystem::path& /*checkpoint*/, base::FileSystem& /*files*/) {}
  /// As Algorithm's.
  virtual nlohmann::json state_dict() const;
  virtual void load_state_dict(const nlohmann::json& /*state*/) {}
};

}  // namespace paceline::train
