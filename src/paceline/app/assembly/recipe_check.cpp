#include "paceline/app/assembly/recipe_check.h"

#include "paceline/app/assembly/data_parts.h"
#include "paceline/app/assembly/model_parts.h"
#include "paceline/app/recipe/batch_arithmetic.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/train/condition.h"
#include "paceline/train/engine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace paceline::app {
namespace {

/// What the recipe and its callbacks look at, by key.
std::map<std::string, std::string> metrics_in_use(
    const Recipe& recipe, bool evaluates,
    std::span<const std::unique_ptr<train::Callback>> callbacks) {
  std::map<std::string, std::string> used;
  if (recipe.checkpoint.every && recipe.checkpoint.keep_best > 0 && evaluates)
    used["checkpoint.monitor"] = recipe.checkpoint.monitor;
  if (recipe.train.stop_when)
    used["train.stop_when"] = train::Condition::parse(*recipe.train.stop_when).metric();
  for (const auto& callback : callbacks) {
    for (const auto& [key, metric] : callback->metrics_in_use())
      used[fmt::format("callbacks.{}.{}", callback->name(), key)] = metric;
  }
  return used;
}

/// Lengths in steps hang on the number of images: what is wrong with any number is wrong.
void check_schedule(const Recipe& recipe, const Registries& registries) {
  constexpr std::int64_t kMostSteps = 100'000'000;  // an epoch
  const std::int64_t batch = global_batch_size_of(recipe.data, /*world_size=*/1);
  std::set<std::string> complaints;
  std::string first;
  for (std::int64_t steps = 1; steps <= kMostSteps; steps *= 10) {
    try {
      registries.schedules.build(recipe.schedule,
                                 batch_arithmetic(recipe, steps * batch, 1).lengths);
      return;
    } catch (const base::ConfigError& error) {
      if (complaints.empty()) first = error.what();
      complaints.insert(error.what());
    }
  }
  throw base::ConfigError(complaints.size() == 1
                              ? first
                              : fmt::format("{} (counted here with one step an epoch)", first));
}

}  // namespace

void check_metric_names(const Recipe& recipe, bool evaluates,
                        std::span<const train::Metric> metrics,
                        std::span<const std::unique_ptr<train::Algorithm>> algorithms,
                        std::span<const std::unique_ptr<train::Callback>> callbacks) {
  std::vector<std::string> names;
  const auto add_names = [&](const std::string& prefix) {
    names.push_back(prefix + "/loss");
    for (const train::Metric& metric : metrics) names.push_back(prefix + "/" + metric.name);
  };
  add_names("val");
  for (const auto& algorithm : algorithms) {
    if (algorithm->traits().has_weights) add_names(fmt::format("val_{}", algorithm->name()));
  }
  std::vector<std::string> problems;
  for (const auto& [key, metric] : metrics_in_use(recipe, evaluates, callbacks)) {
    if (!evaluates) {
      problems.push_back(fmt::format(
          "{}: '{}' is a metric of the evaluation, and this run has none: give it validation data "
          "(data.val_share, data.val_path) and train.eval_every, or take the key out",
          key, metric));
      continue;
    }
    if (std::ranges::find(names, metric) != names.end()) continue;
    problems.push_back(fmt::format("{}: '{}' is no metric of the evaluation; expected one of {}",
                                   key, metric, base::join(names, ", ")));
  }
  if (!problems.empty()) throw base::ConfigError(base::join(problems, "\n"));
}

std::vector<std::string> problems_without_data(const Recipe& written,
                                               const Registries& registries) {
  Recipe recipe = written;
  recipe.train.precision =
      train::choose_precision(written.train.precision, at::kCPU).precision;  // whatever auto is
  std::vector<std::string> problems;
  const auto attempt = [&](const auto& build) {
    try {
      build();
    } catch (const base::Error& error) {
      problems.emplace_back(error.what());
    }
  };
  attempt([&] { registries.datasets.build(recipe.data.source)->check_place(); });
  attempt([&] { check_schedule(recipe, registries); });
  std::vector<nn::SampleSizes> sizes;
  for (const data::Split split : {data::Split::kTrain, data::Split::kVal}) {
    if (split == data::Split::kVal && !recipe.train.eval_every) continue;
    attempt([&] {
      if (registries.datasets.build(recipe.data.source)->make_samples) return;
      const auto transforms = transforms_of(recipe.data, registries, split);
      if (split == data::Split::kTrain && recipe.data.progressive_resizing.start_size)
        with_size(transforms, *recipe.data.progressive_resizing.start_size);
      if (!data::fixes_size(transforms)) return;  // the images may
      const auto pipeline = std::make_shared<data::TransformPipeline>(transforms);
      sizes.push_back(sample_sizes(data::ImageMaker(pipeline).fields()));
    });
  }
  std::unique_ptr<optim::OptimizerPlan> plan;
  attempt([&] { plan = registries.optimizers.build(recipe.optimizer); });
  if (written.train.precision != train::Precision::kAuto)  // else by the device
    attempt([&] { check_strategy_options(recipe); });
  std::vector<std::unique_ptr<train::Algorithm>> algorithms;
  for (const auto& [name, component] : recipe.algorithms)
    attempt([&] { algorithms.push_back(registries.algorithms.build(component)); });
  attempt([&] { train::check_together(algorithms); });
  if (recipe.model.pretrained) attempt([&] { find_weights(*recipe.model.pretrained); });
  std::vector<std::unique_ptr<train::Callback>> callbacks;
  for (const auto& [name, component] : recipe.callbacks)
    attempt([&] { callbacks.push_back(registries.callbacks.build(component)); });
  if (!recipe.model.freeze.empty()) attempt([&] { make_task(recipe, registries); });
  recipe.model.freeze.clear();  // told, if it is wrong
  attempt([&] {
    const auto task = make_task(recipe, registries);
    if (plan) group_rules(*plan, task->network());
    for (const nn::SampleSizes& of_split : sizes) task->check_fields(of_split);
    check_metric_names(recipe, recipe.train.eval_every.has_value(), task->metrics(), algorithms,
                       callbacks);
    const int num_norms =
        nn::set_batch_norm_frozen(task->network(), recipe.model.freeze_batch_norm);
    if (recipe.parallel.sync_batch_norm && num_norms == 0)
      throw base::ConfigError(no_batch_norm(recipe, "parallel.sync_batch_norm"));
  });
  return problems;
}

}  // namespace paceline::app
