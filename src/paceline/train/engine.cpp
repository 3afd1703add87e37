#include "paceline/train/engine.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

namespace paceline::train {
namespace {

/// The name of a second algorithm with this trait besides the first.
void refuse_two(std::string_view& first, const Algorithm& algorithm, std::string_view what) {
  if (!first.empty()) {
    throw base::ConfigError(fmt::format("algorithms '{}' and '{}' both {}; keep one of them", first,
                                        algorithm.name(), what));
  }
  first = algorithm.name();
}

}  // namespace

void check_together(std::span<const std::unique_ptr<Algorithm>> algorithms) {
  std::set<std::string_view> names;
  std::string_view replaces_loss;
  std::string_view takes_passes;
  for (const auto& algorithm : algorithms) {
    if (!names.insert(algorithm->name()).second) {
      throw base::ConfigError(fmt::format("algorithm '{}' is given twice", algorithm->name()));
    }
    if (algorithm->traits().replaces_loss)
      refuse_two(replaces_loss, *algorithm, "replace the loss");
    if (algorithm->traits().takes_extra_passes)
      refuse_two(takes_passes, *algorithm, "take gradients twice");
  }
}

Engine::Engine(std::vector<std::unique_ptr<Algorithm>> algorithms,
               std::vector<std::unique_ptr<Callback>> callbacks)
    : algorithms_(std::move(algorithms)), callbacks_(std::move(callbacks)) {
  check_together(algorithms_);
  std::stable_sort(algorithms_.begin(), algorithms_.end(), [](const auto& a, const auto& b) {
    return a->traits().order < b->traits().order;
  });
  for (std::size_t index = 0; index < kNumEvents; ++index) {
    const auto event = static_cast<Event>(index);
    for (const auto& algorithm : algorithms_) {
      if (algorithm->traits().events.contains(event))
        algorithms_at_[index].push_back(algorithm.get());
    }
    if (is_after_event(event))
      std::reverse(algorithms_at_[index].begin(), algorithms_at_[index].end());
    for (const auto& callback : callbacks_) {
      if (callback->events().contains(event)) callbacks_at_[index].push_back(callback.get());
    }
  }
}

void Engine::fire(Event event, TrainState& state, const RunContext& run) {
  const auto index = static_cast<std::size_t>(event);
  for (Algorithm* algorithm : algorithms_at_[index]) algorithm->apply(event, state, run);
  for (Callback* callback : callbacks_at_[index]) {
    auto reason = callback->on_event(event, state, run);
    if (reason && !stop_reason_) stop_reason_ = std::move(reason);
  }
}

std::optional<std::string> Engine::acts_between(Event first, Event last) const {
  for (auto index = static_cast<std::size_t>(first); index <= static_cast<std::size_t>(last);
       ++index) {
    for (const Algorithm* algorithm : algorithms_at_[index]) return std::string(algorithm->name());
    for (const Callback* callback : callbacks_at_[index]) return std::string(callback->name());
  }
  return std::nullopt;
}

std::optional<std::string> Engine::take_stop_reason() { return std::exchange(stop_reason_, {}); }

nlohmann::json Engine::state_dict() const {
  nlohmann::json state = {{"algorithms", nlohmann::json::object()},
                          {"callbacks", nlohmann::json::object()}};
  for (const auto& part : algorithms_)
    state["algorithms"][std::string(part->name())] = part->state_dict();
  for (const auto& part : callbacks_)
    state["callbacks"][std::string(part->name())] = part->state_dict();
  return state;
}

std::vector<tensor::StateShard> Engine::tensors(const TrainState& state) const {
  std::vector<tensor::StateShard> tensors;
  for (const auto& algorithm : algorithms_) {
    for (auto& shard : algorithm->tensors(state)) tensors.push_back(std::move(shard));
  }
  return tensors;
}

std::vector<std::string> Engine::scalar_names() const {
  std::vector<std::string> names;
  for (const auto& algorithm : algorithms_) {
    for (const std::string_view scalar : algorithm->traits().scalars)
      names.push_back(fmt::format("{}/{}", algorithm->name(), scalar));
  }
  return names;
}

std::vector<double> Engine::scalars() const {
  std::vector<double> scalars;
  for (const auto& algorithm : algorithms_)
    std::ranges::copy(algorithm->scalars(), std::back_inserter(scalars));
  return scalars;
}

std::optional<std::string> Engine::takes_extra_passes() const {
  for (const auto& algorithm : algorithms_) {
    if (algorithm->traits().takes_extra_passes) return std::string(algorithm->name());
  }
  return std::nullopt;
}

Algorithm* Engine::with_extra_pass(const TrainState& state) const {
  const auto found = std::ranges::find_if(
      algorithms_, [&](const auto& algorithm) { return algorithm->extra_pass(state).has_value(); });
  return found == algorithms_.end() ? nullptr : found->get();
}

std::vector<Algorithm*> Engine::with_weights() const {
  std::vector<Algorithm*> found;
  for (const auto& algorithm : algorithms_) {
    if (algorithm->traits().has_weights) found.push_back(algorithm.get());
  }
  return found;
}

void Engine::tell_saved(const std::filesystem::path& checkpoint, base::FileSystem& files) const {
  for (const auto& callback : callbacks_) {
    try {
      callback->on_saved(checkpoint, files);
    } catch (const std::exception& error) {
      base::log_warning("callbacks.{}: {}", callback->name(), error.what());
    }
  }
}

// Unlike a callback an algorithm changes what is trained, and cannot begin in the middle of a run.
void Engine::check_state(const nlohmann::json& state) const {
  for (const auto& algorithm : algorithms_) {
    if (state.at("algorithms").contains(std::string(algorithm->name()))) continue;
    throw base::CheckpointError(
        fmt::format("the checkpoint holds no state of algorithm '{}'; resume with the recipe that "
                    "wrote it",
                    algorithm->name()));
  }
}

void Engine::load_state_dict(const nlohmann::json& state) {
  check_state(state);
  for (const auto& part : algorithms_)
    part->load_state_dict(state.at("algorithms").at(std::string(part->name())));
  const nlohmann::json& of_callbacks = state.at("callbacks");
  for (const auto& part : callbacks_) {
    const auto own = of_callbacks.find(std::string(part->name()));
    if (own != of_callbacks.end()) part->load_state_dict(*own);  // else it begins with this start
  }
}

}  // namespace paceline::train
