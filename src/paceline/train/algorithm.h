#pragma once

#include "paceline/train/event.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace paceline::train {

struct TrainState;
struct RunContext;

struct AlgorithmTraits {
  EventSet events;             ///< when apply() is called
  int order = 0;               ///< lower runs first on before-events and last on after-events
  bool replaces_loss = false;  ///< at most one active algorithm may say so
};

/// Changes the run. It gets TrainState&, so the compiler knows that it may.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual std::string_view name() const = 0;
  virtual AlgorithmTraits traits() const = 0;
  /// Every rank must reach the same decisions.
  virtual void apply(Event event, TrainState& state, const RunContext& run) = 0;
  /// What the algorithm must remember to go on as if never stopped.
  virtual nlohmann::json state_dict() const = 0;
  virtual void load_state_dict(const nlohmann::json& state) = 0;
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
  virtual nlohmann::json state_dict() const = 0;
  virtual void load_state_dict(const nlohmann::json& state) = 0;
};

}  // namespace paceline::train
