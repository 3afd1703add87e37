#include "paceline/train/run_state.h"

#include "paceline/base/error.h"

#include <nlohmann/json.hpp>

namespace paceline::train {

namespace {

/// The step is a place in the data only where steps are as long as they were. Checkpoints of format
/// versions before 3 do not say how long.
void check_lengths(const nlohmann::json& clock, const config::StepLengths& now) {
  const auto samples_per_step = clock.value("samples_per_step", now.samples_per_step);
  const auto steps_per_epoch = clock.value("steps_per_epoch", now.steps_per_epoch);
  if (samples_per_step == now.samples_per_step && steps_per_epoch == now.steps_per_epoch) return;
  throw base::CheckpointError(fmt::format(
      "the checkpoint counts {} samples a step and {} steps an epoch, the run {} and {}: resume it "
      "with the batch and the data it had, or start a new run",
      samples_per_step, steps_per_epoch, now.samples_per_step, now.steps_per_epoch));
}

}  // namespace

std::vector<tensor::StateShard> state_shards(const TrainState& state) {
  std::vector<tensor::StateShard> shards = state.strategy->model_state();
  for (auto& shard : state.strategy->optimizer_state(*state.optimizer)) {
    shards.push_back(std::move(shard));
  }
  return shards;
}

std::vector<tensor::StateShard> state_shards(const TrainState& state, const Engine& engine) {
  std::vector<tensor::StateShard> shards = state_shards(state);
  for (auto& shard : engine.tensors(state)) shards.push_back(std::move(shard));
  return shards;
}

std::vector<tensor::StateShard> saved_shards(const TrainState& state, const Engine& engine,
                                             const nlohmann::json& saved) {
  std::vector<tensor::StateShard> shards = state_shards(state, engine);
  if (!saved.contains("engine")) return shards;
  const nlohmann::json& algorithms = saved.at("engine").at("algorithms");
  std::erase_if(shards, [&](const tensor::StateShard& shard) {
    if (!shard.name.starts_with(tensor::kAlgorithms)) return false;
    const std::size_t begin = tensor::kAlgorithms.size();
    return !algorithms.contains(shard.name.substr(begin, shard.name.find('/') - begin));
  });
  return shards;
}

nlohmann::json state_dict(const TrainState& state, const Engine& engine) {
  nlohmann::json saved = {{"clock",
                           {{"step", state.clock.step},
                            {"samples", state.clock.samples},
                            {"elapsed_s", state.clock.elapsed_s},
                            {"steps_per_epoch", state.clock.lengths.steps_per_epoch},
                            {"samples_per_step", state.clock.lengths.samples_per_step},
                            {"skipped_of_epoch", state.skipped.of_epoch},
                            {"skipped_of_run", state.skipped.of_run}}},
                          {"optimizer", {{"num_steps", state.optimizer->num_steps()}}},
                          {"last_eval", state.last_eval},
                          {"last_eval_step", state.last_eval_step},
                          {"is_eval_pending", state.is_eval_pending},
                          {"wants_fresh_statistics", state.wants_fresh_statistics},
                          {"engine", engine.state_dict()}};
  if (state.scaler) saved["grad_scaler"] = state.scaler->state_dict();
  return saved;
}

void check_algorithms(const nlohmann::json& saved, const Engine& engine) {
  if (saved.contains("engine")) engine.check_state(saved.at("engine"));
}

std::optional<std::int64_t> samples_per_step(const nlohmann::json& saved) {
  const auto clock = saved.find("clock");
  if (clock == saved.end() || !clock->contains("samples_per_step")) return std::nullopt;
  return clock->at("samples_per_step").get<std::int64_t>();
}

void load_state_dict(const nlohmann::json& saved, TrainState& state, Engine& engine) try {
  const nlohmann::json& clock = saved.at("clock");
  check_lengths(clock, state.clock.lengths);
  state.clock.step = clock.at("step").get<std::int64_t>();
  state.clock.samples = clock.at("samples").get<std::int64_t>();
  state.clock.elapsed_s = clock.at("elapsed_s").get<double>();
  // Older checkpoints did not count them.
  state.skipped = {clock.value("skipped_of_epoch", std::int64_t{0}),
                   clock.value("skipped_of_run", std::int64_t{0})};
  state.optimizer->set_num_steps(saved.at("optimizer").at("num_steps").get<std::int64_t>());
  state.last_eval = saved.at("last_eval").get<std::map<std::string, double>>();
  state.last_eval_step = saved.at("last_eval_step").get<std::int64_t>();
  state.is_eval_pending = saved.at("is_eval_pending").get<bool>();
  // Older checkpoints never do.
  state.wants_fresh_statistics = saved.value("wants_fresh_statistics", false);
  if (state.scaler && saved.contains("grad_scaler"))  // else the run had another precision
    state.scaler->load_state_dict(saved.at("grad_scaler"));
  engine.load_state_dict(saved.at("engine"));
} catch (const nlohmann::json::exception& error) {
  throw base::CheckpointError(
      fmt::format("the checkpoint's state is not that of a paceline run: {}", error.what()));
}

}  // namespace paceline::train
