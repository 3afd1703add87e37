#include "paceline/train/engine.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/train/train_state.h"

#include <algorithm>
#include <cmath>
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

std::vector<std::string> row_names(std::string_view owner,
                                   std::span<const std::string_view> scalars) {
  std::vector<std::string> names;
  for (const std::string_view scalar : scalars)
    names.push_back(fmt::format("{}/{}", owner, scalar));
  return names;
}

/// Which values the labels of a microbatch are; null if it has none.
struct LabelsSeen {
  explicit LabelsSeen(const Batch& batch) {
    if (const at::Tensor* const found = batch.fields.find(kLabels)) {
      labels = *found;
      version = labels._version();
    }
  }
  bool are_those_of(const Batch& batch) const {
    const at::Tensor* const found = batch.fields.find(kLabels);
    return found == nullptr ? !labels.defined()
                            : found->is_same(labels) && labels._version() == version;
  }

  at::Tensor labels;
  std::int64_t version = 0;
};

}  // namespace

std::vector<std::string> bring_together(std::span<const std::unique_ptr<Algorithm>> algorithms) {
  std::set<std::string_view> names;
  std::string_view replaces_loss;
  std::string_view takes_passes;
  std::string_view stands;
  for (const auto& algorithm : algorithms) {
    if (!names.insert(algorithm->name()).second) {
      throw base::ConfigError(fmt::format("algorithm '{}' is given twice", algorithm->name()));
    }
    if (algorithm->traits().replaces_loss)
      refuse_two(replaces_loss, *algorithm, "replace the loss");
    if (algorithm->traits().takes_extra_passes)
      refuse_two(takes_passes, *algorithm, "take gradients twice");
    if (algorithm->traits().stands_for_weights)
      refuse_two(
          stands, *algorithm,
          "have evaluations measure their average in place of the trained weights (evaluate: "
          "average)");
  }
  std::vector<std::string> notes;
  for (const auto& algorithm : algorithms) {
    if (std::string note = algorithm->meet(algorithms); !note.empty())
      notes.push_back(std::move(note));
  }
  return notes;
}

void check_intervals(std::span<const std::unique_ptr<Callback>> callbacks) {
  for (const auto& callback : callbacks) {
    const auto every = callback->traits().every;
    if (!every || every->unit != config::TimeUnit::kSecond) continue;
    throw base::ConfigError(
        fmt::format("callbacks.{}: it is called at steps, which '{}' does not count: write an "
                    "interval in ep, ba, sp or dur",
                    callback->name(), every->to_string()));
  }
}

Engine::Engine(std::vector<std::unique_ptr<Algorithm>> algorithms,
               std::vector<std::unique_ptr<Callback>> callbacks)
    : algorithms_(std::move(algorithms)),
      callbacks_(std::move(callbacks)),
      notes_(bring_together(algorithms_)) {
  check_intervals(callbacks_);
  for (const auto& callback : callbacks_) {
    CallbackTraits traits = callback->traits();
    watchers_.push_back({callback.get(), traits, row_names(callback->name(), traits.step_scalars),
                         row_names(callback->name(), traits.eval_scalars)});
  }
  std::stable_sort(algorithms_.begin(), algorithms_.end(), [](const auto& a, const auto& b) {
    return a->traits().order < b->traits().order;
  });
  for (const auto& algorithm : algorithms_) {
    if (algorithm->traits().transforms_batches) transforms_.push_back(algorithm.get());
  }
  for (std::size_t index = 0; index < kNumEvents; ++index) {
    const auto event = static_cast<Event>(index);
    for (const auto& algorithm : algorithms_) {
      if (algorithm->traits().events.contains(event))
        algorithms_at_[index].push_back(algorithm.get());
    }
    if (is_after_event(event))
      std::reverse(algorithms_at_[index].begin(), algorithms_at_[index].end());
    for (const Watcher& watcher : watchers_) {
      if (watcher.traits.events.contains(event)) watchers_at_[index].push_back(&watcher);
    }
  }
}

void Engine::fire(Event event, TrainState& state, const RunContext& run) {
  const auto index = static_cast<std::size_t>(event);
  for (Algorithm* algorithm : algorithms_at_[index]) algorithm->apply(event, state, run);
  const TrainState& seen = state;
  for (const Watcher* watcher : watchers_at_[index]) {
    if (!watcher->traits.includes(event, seen.clock)) continue;
    auto reason = watcher->callback->on_event(event, seen, run);
    if (reason && !stop_reason_) stop_reason_ = std::move(reason);
  }
}

std::optional<std::string> Engine::acts_between(Event first, Event last) const {
  for (auto index = static_cast<std::size_t>(first); index <= static_cast<std::size_t>(last);
       ++index) {
    for (const Algorithm* algorithm : algorithms_at_[index]) return std::string(algorithm->name());
    for (const Watcher* watcher : watchers_at_[index])
      return std::string(watcher->callback->name());
  }
  return std::nullopt;
}

std::optional<std::string> Engine::take_stop_reason() { return std::exchange(stop_reason_, {}); }

std::int64_t Engine::num_kept(std::int64_t size, const Clock& clock) const {
  for (const Algorithm* algorithm : transforms_) {
    if (size == 0) return 0;
    const std::int64_t kept = algorithm->num_kept(size, clock);
    PACELINE_CHECK(kept >= 1 && kept <= size, "algorithm '{}' keeps {} of {} samples",
                   algorithm->name(), kept, size);
    size = kept;
  }
  return size;
}

void Engine::forward_nothing() const {
  for (const auto& algorithm : algorithms_) algorithm->forward_nothing();
}

void Engine::transform(Batch& microbatch, TrainState& state, const RunContext& run) const {
  for (Algorithm* algorithm : transforms_) {
    if (microbatch.size == 0) {  // as a ragged last batch may leave a rank
      algorithm->transform_nothing(microbatch, state, run);
      continue;
    }
    const std::int64_t before = microbatch.size;
    const std::int64_t wanted = algorithm->num_kept(before, state.clock);
    const LabelsSeen labels(microbatch);
    algorithm->transform(microbatch, state, run);
    PACELINE_CHECK(microbatch.size == wanted,
                   "algorithm '{}' keeps {} of {} samples, and {} were announced",
                   algorithm->name(), microbatch.size, before, wanted);
    PACELINE_CHECK(wanted < before || labels.are_those_of(microbatch),
                   "algorithm '{}' changes labels, by which metrics count: what the loss sees are "
                   "targets",
                   algorithm->name());
  }
}

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

std::uint64_t Engine::copied_bytes(const TrainState& state, const FieldBytes& field_bytes) const {
  std::uint64_t bytes = 0;
  for (const auto& algorithm : algorithms_) bytes += algorithm->copied_bytes(state, field_bytes);
  return bytes;
}

std::vector<std::string> Engine::scalar_names() const {
  std::vector<std::string> names;
  for (const auto& algorithm : algorithms_)
    std::ranges::move(row_names(algorithm->name(), algorithm->traits().scalars),
                      std::back_inserter(names));
  return names;
}

std::vector<double> Engine::scalars() const {
  std::vector<double> scalars;
  for (const auto& algorithm : algorithms_)
    std::ranges::copy(algorithm->scalars(), std::back_inserter(scalars));
  return scalars;
}

std::vector<metrics::MetricValue> Engine::callback_scalars(Event event, const Clock& clock) const {
  std::vector<metrics::MetricValue> found;
  for (const Watcher& watcher : watchers_) {
    const std::vector<std::string>& names =
        event == Event::kStepEnd ? watcher.step_scalars : watcher.eval_scalars;
    if (names.empty() || !watcher.traits.includes(event, clock)) continue;
    const std::vector<double> values = watcher.callback->scalars(event);
    PACELINE_CHECK(values.size() == names.size(), "callback '{}' has {} scalars, {} announced",
                   watcher.callback->name(), values.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!std::isnan(values[i])) found.push_back({names[i], values[i]});
    }
  }
  return found;
}

std::vector<const Algorithm*> Engine::that_change_network() const {
  std::vector<const Algorithm*> found;
  for (const auto& algorithm : algorithms_) {
    if (algorithm->traits().changes_network) found.push_back(algorithm.get());
  }
  return found;
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

Algorithm* Engine::standing() const {
  const auto found = std::ranges::find_if(algorithms_, [](const auto& algorithm) {
    return algorithm->traits().stands_for_weights && algorithm->has_weights();
  });
  return found == algorithms_.end() ? nullptr : found->get();
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

// Unlike a callback an algorithm changes what is trained.
void Engine::check_state(const nlohmann::json& state) const {
  for (const auto& algorithm : algorithms_) {
    if (state.at("algorithms").contains(std::string(algorithm->name()))) continue;
    if (algorithm->traits().may_come_or_go) continue;
    throw base::CheckpointError(
        fmt::format("the checkpoint holds no state of algorithm '{}'; resume with the recipe that "
                    "wrote it",
                    algorithm->name()));
  }
}

void Engine::load_state_dict(const nlohmann::json& state) {
  check_state(state);
  const auto load_into = [](const auto& parts, const nlohmann::json& saved) {
    for (const auto& part : parts) {
      const auto own = saved.find(std::string(part->name()));
      if (own != saved.end()) part->load_state_dict(*own);  // else it begins with this start
    }
  };
  load_into(algorithms_, state.at("algorithms"));
  load_into(callbacks_, state.at("callbacks"));
}

}  // namespace paceline::train
