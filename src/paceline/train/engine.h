#pragma once

#include "paceline/train/algorithm.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace paceline::train {

/// Throws ConfigError when two algorithms share a name, or a trait that only one may have.
void check_together(std::span<const std::unique_ptr<Algorithm>> algorithms);

/// Calls algorithms, then callbacks, at each event.
class Engine {
 public:
  /// Throws what check_together() throws.
  Engine(std::vector<std::unique_ptr<Algorithm>> algorithms,
         std::vector<std::unique_ptr<Callback>> callbacks);

  void fire(Event event, TrainState& state, const RunContext& run);

  /// The name of an algorithm or callback with an event from `first` to `last`, if there is one.
  std::optional<std::string> acts_between(Event first, Event last) const;

  /// Why a callback asked to stop since the last call, if one did.
  std::optional<std::string> take_stop_reason();

  /// What algorithms own, in their order.
  std::vector<tensor::StateShard> tensors(const TrainState& state) const;
  /// The names of all algorithms' scalars, as they are logged, and those of the step at hand.
  std::vector<std::string> scalar_names() const;
  std::vector<double> scalars() const;

  /// The name of an algorithm that takes more than one pass in some steps.
  std::optional<std::string> takes_extra_passes() const;
  /// The one that wants an extra pass in this step; nullptr if none does.
  Algorithm* with_extra_pass(const TrainState& state) const;
  /// Those that have weights to be evaluated.
  std::vector<Algorithm*> with_weights() const;

  /// Tells callbacks of a checkpoint, as Callback::on_saved(); throws nothing.
  void tell_saved(const std::filesystem::path& checkpoint, base::FileSystem& files) const;

  nlohmann::json state_dict() const;
  /// Throws CheckpointError when an algorithm of this run is not among those saved.
  void check_state(const nlohmann::json& state) const;
  /// Throws what check_state() throws.
  void load_state_dict(const nlohmann::json& state);

 private:
  std::vector<std::unique_ptr<Algorithm>> algorithms_;
  std::vector<std::unique_ptr<Callback>> callbacks_;
  std::array<std::vector<Algorithm*>, kNumEvents> algorithms_at_;
  std::array<std::vector<Callback*>, kNumEvents> callbacks_at_;
  std::optional<std::string> stop_reason_;
};

}  // namespace paceline::train
