#pragma once

#include "paceline/metrics/metric_sink.h"
#include "paceline/train/algorithm.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace paceline::train {

/// Has the algorithms of a run meet each other. Returns what the banner should tell of that. Throws
/// ConfigError when two share a name, or a trait that only one may have, and what meet() throws.
std::vector<std::string> bring_together(std::span<const std::unique_ptr<Algorithm>> algorithms);

/// Throws ConfigError when a callback wants to be called by the clock on the wall.
void check_intervals(std::span<const std::unique_ptr<Callback>> callbacks);

/// Calls algorithms, then callbacks, at each event.
class Engine {
 public:
  /// Throws what bring_together() and check_intervals() throw.
  Engine(std::vector<std::unique_ptr<Algorithm>> algorithms,
         std::vector<std::unique_ptr<Callback>> callbacks);

  /// What bring_together() returned.
  const std::vector<std::string>& notes() const { return notes_; }

  void fire(Event event, TrainState& state, const RunContext& run);

  /// As Algorithm::forward_nothing(), of all algorithms.
  void forward_nothing() const;

  /// The name of an algorithm or callback with an event from `first` to `last`, if there is one.
  std::optional<std::string> acts_between(Event first, Event last) const;

  /// Why a callback asked to stop since the last call, if one did.
  std::optional<std::string> take_stop_reason();

  /// Has the algorithms that transform batches change a microbatch, in their order. Throws
  /// InternalError when one changes labels, or keeps other than the samples that it said.
  void transform(Batch& microbatch, TrainState& state, const RunContext& run) const;
  /// How many of a microbatch's samples they leave.
  std::int64_t num_kept(std::int64_t size, const Clock& clock) const;
  bool transforms_batches() const { return !transforms_.empty(); }
  /// The algorithms that change networks, in the order in which they do at kInit.
  std::vector<const Algorithm*> that_change_network() const;

  /// What algorithms own, in their order.
  std::vector<tensor::StateShard> tensors(const TrainState& state) const;
  /// The sum of what Algorithm::copied_bytes() tells.
  std::uint64_t copied_bytes(const TrainState& state, const FieldBytes& field_bytes) const;
  /// The names of all algorithms' scalars, as they are logged, and those of the step at hand.
  std::vector<std::string> scalar_names() const;
  std::vector<double> scalars() const;
  /// What callbacks have for the row of a step (kStepEnd) or an evaluation (kEvaluated), after that
  /// event; names are valid as long as the engine.
  std::vector<metrics::MetricValue> callback_scalars(Event event, const Clock& clock) const;

  /// The name of an algorithm that takes more than one pass in some steps.
  std::optional<std::string> takes_extra_passes() const;
  /// The one that wants an extra pass in this step; nullptr if none does.
  Algorithm* with_extra_pass(const TrainState& state) const;
  /// Those that have weights to be evaluated.
  std::vector<Algorithm*> with_weights() const;
  /// The one whose weights stand for the trained ones by now; nullptr: these do themselves.
  Algorithm* standing() const;

  /// Tells callbacks of a checkpoint, as Callback::on_saved(); throws nothing.
  void tell_saved(const std::filesystem::path& checkpoint, base::FileSystem& files) const;

  nlohmann::json state_dict() const;
  /// Throws CheckpointError when an algorithm of this run is not among those saved and may not come
  /// in the middle of one.
  void check_state(const nlohmann::json& state) const;
  /// Throws what check_state() throws. What was not saved begins with this start.
  void load_state_dict(const nlohmann::json& state);

 private:
  /// A callback as it is called.
  struct Watcher {
    Callback* callback;
    CallbackTraits traits;
    std::vector<std::string> step_scalars, eval_scalars;  ///< as they are logged
  };

  std::vector<std::unique_ptr<Algorithm>> algorithms_;
  std::vector<std::unique_ptr<Callback>> callbacks_;
  std::vector<std::string> notes_;
  std::vector<Watcher> watchers_;
  std::array<std::vector<Algorithm*>, kNumEvents> algorithms_at_;
  std::array<std::vector<const Watcher*>, kNumEvents> watchers_at_;
  std::vector<Algorithm*> transforms_;
  std::optional<std::string> stop_reason_;
};

}  // namespace paceline::train
