#pragma once

#include "paceline/base/file.h"
#include "paceline/checkpoint/async_writer.h"
#include "paceline/checkpoint/environment.h"
#include "paceline/checkpoint/retention.h"
#include "paceline/checkpoint/surgery.h"
#include "paceline/train/checkpoint_config.h"
#include "paceline/train/engine.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace paceline::train {

/// What a run writes into every checkpoint besides its state, and where.
struct CheckpointFacts {
  std::filesystem::path folder;  ///< of all checkpoints of the run
  std::string config;            ///< the resolved recipe, YAML
  checkpoint::Environment environment;
  std::map<std::string, std::string> inputs = {};         ///< as in checkpoint::Manifest
  std::vector<std::string> class_names = {};              ///< likewise
  std::optional<checkpoint::SurgeryRecord> surgery = {};  ///< likewise
  std::optional<std::int64_t> resumed_step = {};  ///< of the checkpoint the run goes on from
  std::optional<double> best = {};  ///< monitored value of the best that is there; for rank 0
  /// Throws if the run's folder is no longer the one that the run was given; rank 0 calls it.
  std::function<void()> require_place = [] {};
  /// Rank 0 tells here of each checkpoint that is on disk, before older ones give way.
  std::function<void(const std::filesystem::path& saved)> tell_saved = [](const auto&) {};
  bool is_scratch = false;  ///< the folder goes away with the run, so nobody is sent there
};

/// Saves the run at safe points when it is due, when it stops, and when an evaluation was the best
/// yet; removes checkpoints that the recipe gives up. A checkpoint appears only when what was
/// logged up to its step is on disk.
class CheckpointSaver {
 public:
  /// `files` must outlive the saver.
  CheckpointSaver(const CheckpointConfig& config, CheckpointFacts facts,
                  const config::StepLengths& lengths, base::FileSystem& files);

  /// Every rank must call it after every step. Saves where the interval, a new best or the end of
  /// the run wants it, or `must_save`. When the run stops it returns with all on disk.
  /// Throws CheckpointError, also for a save that an earlier step started; earlier checkpoints stay
  /// usable. Throws DivergedError for replicas that differ, and instead of a save for a state that
  /// holds NaN or infinite values.
  void at_safe_point(TrainState& state, const Engine& engine, const RunContext& run,
                     bool must_save = false);

  /// Waits for a save that is in flight; throws as at_safe_point(). Every rank must call it.
  void finish(const RunContext& run);
  /// The same when the run ends by an error of all ranks, beside which a failure is only told.
  void finish_beside_error(const RunContext& run);
  /// Whether this rank knows that a save which an earlier step started has failed.
  bool has_failed() const { return writer_ && writer_->has_failed(); }
  /// Throws as at_safe_point() if one has on any rank. Every rank must call it.
  void throw_if_failed(const RunContext& run);

 private:
  void save(TrainState& state, const Engine& engine, const RunContext& run);
  checkpoint::SaveRequest request_for(const TrainState& state, const Engine& engine,
                                      const RunContext& run);
  /// What rank 0 does when a checkpoint is on disk; by the writer's thread where it has one.
  void finish_save(const std::filesystem::path& saved);
  void remove_old(const std::filesystem::path& saved);
  void point_links();
  /// For a run without checkpoints, whose state nothing else looks at.
  static void refuse_non_finite(const TrainState& state, const RunContext& run);
  /// The monitored metric, if the newest evaluation was made at this step.
  std::optional<double> monitored_value(const TrainState& state) const;
  bool is_best(double value) const;

  CheckpointConfig config_;
  CheckpointFacts facts_;
  std::int64_t interval_;        ///< in steps; 0: nothing is saved
  std::int64_t check_interval_;  ///< in steps; 0: replicas are not compared
  base::FileSystem& files_;
  std::optional<double> best_;
  checkpoint::Retention retention_;  ///< used by one save at a time
  bool lacks_links_ = false;         ///< as was said; the file system may have none
  std::optional<checkpoint::AsyncWriter> writer_;
  bool has_memory_ = false;  ///< of the writer
};

}  // namespace paceline::train
