#pragma once

#include "paceline/base/file.h"
#include "paceline/checkpoint/environment.h"
#include "paceline/train/checkpoint_config.h"
#include "paceline/train/engine.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace paceline::train {

/// What a run writes into every checkpoint besides its state.
struct CheckpointFacts {
  std::filesystem::path folder;  ///< of all checkpoints of the run
  std::string config;            ///< the resolved recipe, YAML
  checkpoint::Environment environment;
};

/// Saves the run at safe points when it is due, when it stops, and when an evaluation was the best
/// yet; removes checkpoints that the recipe gives up.
class CheckpointSaver {
 public:
  /// `files` must outlive the saver.
  CheckpointSaver(const CheckpointConfig& config, CheckpointFacts facts,
                  const config::StepLengths& lengths, base::FileSystem& files);

  /// Every rank must call it after every step. Throws CheckpointError; earlier checkpoints stay
  /// usable.
  void at_safe_point(TrainState& state, const Engine& engine, const RunContext& run);
  /// Saves now. Every rank must call it.
  void save(TrainState& state, const Engine& engine, const RunContext& run);

 private:
  /// The monitored metric, if the newest evaluation was made at this step.
  std::optional<double> monitored_value(const TrainState& state) const;
  bool is_best(double value) const;

  CheckpointConfig config_;
  CheckpointFacts facts_;
  std::int64_t interval_;  ///< in steps
  base::FileSystem& files_;
  std::optional<double> best_;
};

}  // namespace paceline::train
