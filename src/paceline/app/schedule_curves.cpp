#include "paceline/app/schedule_curves.h"

#include "paceline/app/recipe/batch_arithmetic.h"
#include "paceline/app/recipe/progressive_resizing.h"
#include "paceline/app/recipe/usual_transforms.h"
#include "paceline/base/error.h"
#include "paceline/config/write.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace paceline::app {
namespace {

/// Evenly from the first to the last step, both among them.
std::vector<std::int64_t> points_of(std::int64_t total_steps, int most_points) {
  const std::int64_t count = std::min<std::int64_t>(total_steps, most_points);
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i < count; ++i)
    steps.push_back(count == 1 ? 0 : i * (total_steps - 1) / (count - 1));
  return steps;
}

ScheduleCurve learning_rate(const optim::Schedule& schedule, double base,
                            std::vector<std::int64_t> steps) {
  ScheduleCurve curve{"optimizer.lr", std::move(steps), {}};
  for (const std::int64_t step : curve.steps) curve.values.push_back(base * schedule.factor(step));
  return curve;
}

/// Nothing of a schedule that leaves it alone.
std::optional<ScheduleCurve> momentum(const optim::Schedule& schedule,
                                      std::vector<std::int64_t> steps) {
  if (!schedule.momentum(0)) return std::nullopt;
  ScheduleCurve curve{"momentum", std::move(steps), {}};
  for (const std::int64_t step : curve.steps) curve.values.push_back(*schedule.momentum(step));
  return curve;
}

/// A stair: each change is a point of its own.
ScheduleCurve image_size(const std::vector<SizeChange>& changes, std::int64_t total_steps) {
  ScheduleCurve curve{"data.image_size", {}, {}};
  for (const SizeChange& change : changes) {
    if (change.first_step > 0 && change.first_step < total_steps) {
      curve.steps.push_back(change.first_step - 1);
      curve.values.push_back(curve.values.back());
    }
    curve.steps.push_back(std::min(change.first_step, total_steps - 1));
    curve.values.push_back(change.size);
  }
  curve.steps.push_back(total_steps - 1);
  curve.values.push_back(curve.values.back());
  return curve;
}

std::vector<std::string> constants_of(const config::Component& optimizer, bool has_momentum) {
  const config::Node options = config::options_of(optimizer);
  std::vector<std::string> constants;
  for (const char* const name : {"momentum", "beta1", "weight_decay"}) {
    const bool is_momentum = std::string_view(name) != "weight_decay";
    if (is_momentum && !has_momentum) continue;
    if (const config::Node* const option = options.find(name))
      constants.push_back(fmt::format("optimizer.{} = {}", name, option->text));
  }
  return constants;
}

}  // namespace

ScheduleCurves schedule_curves(const Recipe& recipe, const Registries& registries,
                               std::int64_t train_samples, int world_size, int most_points) {
  const config::StepLengths lengths = batch_arithmetic(recipe, train_samples, world_size).lengths;
  if (lengths.total_steps <= 0) {
    throw base::ConfigError(
        "train.duration: a run that the clock ends has no length to draw; write epochs, steps or "
        "samples, too, as [90ep, 12h]");
  }
  ScheduleCurves result{lengths.total_steps, lengths.steps_per_epoch, {}, {}};
  const auto steps = points_of(lengths.total_steps, most_points);
  const auto schedule = registries.schedules.build(recipe.schedule, lengths);
  const double lr = registries.optimizers.build(recipe.optimizer)->lr;
  result.curves.push_back(learning_rate(
      *schedule, base_lr_of(lr, recipe.train, lengths.samples_per_step).value, steps));
  const auto of_momentum = momentum(*schedule, steps);
  if (of_momentum) result.curves.push_back(*of_momentum);
  result.constants = constants_of(recipe.optimizer, /*has_momentum=*/!of_momentum);
  const DataSection& data = recipe.data;
  const auto plan = registries.datasets.build(data.source);
  const config::Sides size = image_size_of(data, *plan);
  const auto changes = size_changes(data.progressive_resizing, size.shorter(), lengths);
  if (!changes.empty()) result.curves.push_back(image_size(changes, lengths.total_steps));
  return result;
}

}  // namespace paceline::app
