#include "paceline/train/checkpoint_saver.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/finite_check.h"
#include "paceline/checkpoint/links.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/checkpoint/replica_check.h"
#include "paceline/checkpoint/writer.h"
#include "paceline/comm/agreement.h"
#include "paceline/train/run_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::train {
namespace {

std::int64_t steps_of(const config::Duration& duration, const config::StepLengths& lengths) {
  return std::max<std::int64_t>(1, to_steps(duration, lengths));
}

/// Brings all that was logged so far to the disk. A logger that cannot has said so: the run is
/// worth more than its log.
void flush_all(std::span<metrics::MetricSink* const> sinks) {
  for (metrics::MetricSink* sink : sinks) sink->flush();
}

}  // namespace

CheckpointSaver::CheckpointSaver(const CheckpointConfig& config, CheckpointFacts facts,
                                 const config::StepLengths& lengths, base::FileSystem& files)
    : config_(config),
      facts_(std::move(facts)),
      interval_(config.every ? steps_of(*config.every, lengths) : 0),
      check_interval_(config.check_replicas ? steps_of(*config.check_replicas, lengths) : 0),
      files_(files),
      best_(facts_.best),
      retention_({.keep_last = config.keep_last,
                  .keep_best = config.keep_best,
                  .monitor = config.monitor.value_or(""),
                  .mode = config.mode.value_or(MonitorMode::kMax)},
                 facts_.resumed_step) {
  PACELINE_CHECK(config.monitor && config.mode, "a saver must know its metric: set_monitor()");
  if (config_.async && interval_ > 0) {
    writer_.emplace(files_, [this](const auto& path) { finish_save(path); });
  }
}

void CheckpointSaver::at_safe_point(TrainState& state, const Engine& engine, const RunContext& run,
                                    bool must_save) {
  if (check_interval_ > 0 && state.clock.step % check_interval_ == 0) {
    state.strategy->synchronise_buffers();
    checkpoint::check_replicas(state.strategy->model_state(), run.communicator);
  }
  if (interval_ == 0) {
    if (state.is_stopping) refuse_non_finite(state, run);
    return;
  }
  if (writer_ && !std::exchange(has_memory_, true) && !state.is_stopping) {
    writer_->reserve(state_shards(state, engine), run.device);
  }
  const std::optional<double> value = monitored_value(state);
  // Rank 0 knows what the disk holds; all save, or none.
  const bool is_new_best =
      config_.keep_best > 0 && value && comm::first_rank_decides(run.communicator, [&] {
                                          return is_best(*value) ? "best" : "";
                                        }) == "best";
  if (must_save || state.is_stopping || is_new_best || state.clock.step % interval_ == 0)
    save(state, engine, run);
}

void CheckpointSaver::finish(const RunContext& run) {
  if (writer_) writer_->finish(run.communicator);
}

void CheckpointSaver::finish_beside_error(const RunContext& run) try {
  finish(run);
} catch (const base::Error& error) {
  base::log_error("{}", error.what());
}

void CheckpointSaver::throw_if_failed(const RunContext& run) {
  if (writer_) writer_->throw_if_failed(run.communicator);
}

void CheckpointSaver::save(TrainState& state, const Engine& engine, const RunContext& run) {
  state.strategy->synchronise_buffers();
  const std::vector<tensor::StateShard> shards = state_shards(state, engine);
  checkpoint::SaveRequest request = request_for(state, engine, run);
  request.shards = shards;
  if (request.monitored && is_best(request.monitored->value)) best_ = request.monitored->value;
  if (writer_ && !state.is_stopping) {
    writer_->start(request, run.communicator, run.device);
  } else {  // nothing would happen meanwhile
    finish(run);
    const std::filesystem::path path = save_checkpoint(request, run.communicator, files_);
    if (!run.is_main_rank()) return;
    // Whoever sent a signal may not wait for old checkpoints to be verified: the next save will.
    if (run.received_signal == 0) {
      finish_save(path);
    } else {
      facts_.tell_saved(path);
      point_links();
    }
  }
}

checkpoint::SaveRequest CheckpointSaver::request_for(const TrainState& state, const Engine& engine,
                                                     const RunContext& run) {
  checkpoint::SaveRequest request;
  request.folder = facts_.folder;
  request.step = state.clock.step;
  request.state = state_dict(state, engine);
  request.config = facts_.config;
  request.environment = facts_.environment;
  request.inputs = facts_.inputs;
  request.class_names = facts_.class_names;
  request.surgery = facts_.surgery;
  if (const Algorithm* const standing = engine.standing())
    request.standing_weights = standing->name();
  request.before_publication = [sinks = run.sinks, require_place = facts_.require_place] {
    require_place();
    flush_all(sinks);
  };
  if (const auto value = monitored_value(state))
    request.monitored = checkpoint::Monitored{*config_.monitor, *value};
  return request;
}

void CheckpointSaver::finish_save(const std::filesystem::path& saved) {
  base::log_info("saved {}", facts_.is_scratch ? saved.filename().string() : saved.string());
  facts_.tell_saved(saved);
  remove_old(saved);
  point_links();
}

void CheckpointSaver::remove_old(const std::filesystem::path& saved) {
  try {
    retention_.apply(files_, facts_.folder, *checkpoint::step_of_name(saved.filename().string()));
  } catch (const std::exception& error) {  // the next save tries again
    base::log_warning("old checkpoints stay in {}: {}", facts_.folder.string(), error.what());
  }
}

void CheckpointSaver::point_links() {
  try {
    checkpoint::point_links(files_, facts_.folder, *config_.monitor, *config_.mode);
  } catch (const std::exception& error) {  // the next save tries again
    if (std::exchange(lacks_links_, true)) return;
    base::log_warning("{} has no links to the last and the best checkpoint: {}",
                      facts_.folder.string(), error.what());
  }
}

void CheckpointSaver::refuse_non_finite(const TrainState& state, const RunContext& run) {
  const std::string problem = checkpoint::find_non_finite(state_shards(state), run.communicator);
  if (problem.empty()) return;
  throw base::DivergedError(fmt::format("the state after step {} is not finite: {}; {}",
                                        state.clock.step, problem, checkpoint::kDivergenceCure));
}

std::optional<double> CheckpointSaver::monitored_value(const TrainState& state) const {
  if (state.last_eval_step != state.clock.step) return std::nullopt;
  const auto found = state.last_eval.find(*config_.monitor);
  if (found != state.last_eval.end()) return found->second;
  if (config_.keep_best == 0) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& [name, value] : state.last_eval) names.push_back(name);
  throw base::ConfigError(fmt::format(
      "checkpoint.monitor: '{}' is no metric of the evaluation; expected one of {}, or set "
      "checkpoint.keep_best to 0",
      *config_.monitor, base::join(names, ", ")));
}

bool CheckpointSaver::is_best(double value) const {
  if (std::isnan(value)) return false;
  if (!best_) return true;
  return config_.mode == MonitorMode::kMax ? value > *best_ : value < *best_;
}

}  // namespace paceline::train
