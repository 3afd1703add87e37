#include "paceline/app/assembly/recipe_check.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/assembly/first_weights.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/assembly/surgery.h"
#include "paceline/app/recipe/recipe_parts.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/write.h"
#include "paceline/data/storage/storage.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/train/batch/batch.h"
#include "paceline/train/engine.h"
#include "paceline/train/monitor.h"
#include "paceline/train/watch/condition.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace paceline::app {
namespace {

/// What the recipe, its algorithms and its callbacks look at, by key.
std::map<std::string, std::string> metrics_in_use(
    const Recipe& recipe, bool evaluates, std::span<const train::Metric> metrics,
    std::span<const std::unique_ptr<train::Algorithm>> algorithms,
    std::span<const std::unique_ptr<train::Callback>> callbacks) {
  std::map<std::string, std::string> used;
  const auto name_of = [&](const std::optional<std::string>& written) {
    return train::monitor_of(written, {}, metrics).metric;
  };
  if (recipe.checkpoint.every && recipe.checkpoint.keep_best > 0 && evaluates)
    used["checkpoint.monitor"] = name_of(recipe.checkpoint.monitor);
  if (recipe.train.stop_when)
    used["train.stop_when"] = train::Condition::parse(*recipe.train.stop_when).metric();
  const auto add = [&](std::string_view section, const auto& component) {
    for (const auto& [key, metric] : component.metrics_in_use())
      used[fmt::format("{}.{}.{}", section, component.name(), key)] =
          name_of(metric.empty() ? std::nullopt : std::optional(metric));
  };
  for (const auto& algorithm : algorithms) add("algorithms", *algorithm);
  for (const auto& callback : callbacks) add("callbacks", *callback);
  return used;
}

/// What stands in front of values that are not a callback's.
bool is_taken(std::string_view name,
              std::span<const std::unique_ptr<train::Algorithm>> algorithms) {
  constexpr std::array<std::string_view, 7> kOwn{"train",  "val",        "data",  "time",
                                                 "memory", "throughput", "system"};
  return std::ranges::find(kOwn, name) != kOwn.end() || name.starts_with("val_") ||
         std::ranges::any_of(algorithms,
                             [&](const auto& algorithm) { return algorithm->name() == name; });
}

/// What is wrong with the names under which callbacks log their values.
std::vector<std::string> wrong_scalars(
    std::span<const std::unique_ptr<train::Algorithm>> algorithms,
    std::span<const std::unique_ptr<train::Callback>> callbacks) {
  std::vector<std::string> problems;
  for (const auto& callback : callbacks) {
    const train::CallbackTraits traits = callback->traits();
    for (const auto& names : {traits.step_scalars, traits.eval_scalars}) {
      if (names.empty()) continue;
      const std::set<std::string_view> distinct(names.begin(), names.end());
      if (distinct.size() < names.size() || distinct.contains("")) {
        problems.push_back(fmt::format(
            "callbacks.{}: a name of the values that it logs is empty or stands there twice",
            callback->name()));
      }
      if (!is_taken(callback->name(), algorithms)) continue;
      problems.push_back(fmt::format(
          "callbacks.{0}: what it logs would stand at {0}/{1}, among values of others: give the "
          "callback another name",
          callback->name(), names.front()));
      break;
    }
  }
  return problems;
}

/// Lengths in steps hang on the number of images: what is wrong with any number is wrong.
void check_schedule(const Recipe& recipe, const Registries& registries) {
  constexpr std::int64_t kMostSteps = 100'000'000;  // an epoch
  const std::int64_t batch = global_batch_size_of(recipe.data, /*world_size=*/1);
  std::set<std::string> complaints;
  std::string first;
  for (std::int64_t steps = 1; steps <= kMostSteps; steps *= 10) {
    try {
      const auto schedule = registries.schedules.build(
          recipe.schedule, batch_arithmetic(recipe, steps * batch, 1).lengths);
      check_momentum(*schedule, *registries.optimizers.build(recipe.optimizer));
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

/// Where the data lie; empty for those that have no place.
std::string place_of_data(const config::Component& source) {
  if (source.options == nullptr) return {};
  const config::Node options = config::options_of(source);
  const config::Node* const path = options.find("path");
  return path == nullptr ? std::string() : path->text;
}

/// Whether weights that are not here yet may give the images of a split another size.
bool leaves_size_to_weights(const DataSection& data, data::Split split) {
  const auto& written = split == data::Split::kTrain ? data.train_transforms : data.eval_transforms;
  return written.empty() && !data.image_size && !data.preprocessing.crop;
}

/// What the samples of a split are made of; nothing where the images decide. Only a data set that
/// may be of something else than images is opened: nobody but itself knows.
std::optional<nn::SampleSizes> sizes_of_split(const Recipe& recipe, const Registries& registries,
                                              data::Split split) {
  const auto plan = registries.datasets.build(recipe.data.source);
  if (plan->make_samples || plan->may_store_fields) {
    const std::string place = place_of_data(recipe.data.source);
    if (data::is_remote(place)) return std::nullopt;  // no check asks another machine
    try {
      return sample_sizes(
          open_data(recipe, registries, split, /*interruption=*/nullptr).maker->fields());
    } catch (const data::AbsentPartError&) {
      if (split == data::Split::kTrain) throw;
      return std::nullopt;  // a run trains without
    } catch (const base::DataError&) {
      const bool is_there = place.empty() || std::filesystem::exists(place);
      if (!is_there && !plan->train_transforms) return std::nullopt;  // a recipe may come first
      if (!plan->train_transforms) throw;  // else images are what it usually holds
    }
  }
  const auto transforms = transforms_of(recipe.data, registries, split);
  const ProgressiveResizing& resizing = recipe.data.progressive_resizing;
  if (split == data::Split::kTrain && resizing.start_size && !resizing.is_after_loader())
    with_size(transforms, static_cast<int>(*resizing.start_size));
  if (!data::fixes_size(transforms)) return std::nullopt;
  const auto pipeline = std::make_shared<data::TransformPipeline>(transforms);
  return sample_sizes(data::ImageMaker(pipeline).fields());
}

}  // namespace

void check_momentum(const optim::Schedule& schedule, const optim::OptimizerPlan& plan) {
  const std::optional<double> momentum = schedule.momentum(0);
  if (!momentum) return;
  const auto optimizer = plan.make({}, {});
  if (optimizer->set_momentum(*momentum)) return;
  throw base::ConfigError(fmt::format(
      "schedule.max_momentum: optimizer {} has no momentum that a schedule could move: give it one "
      "(optimizer.momentum), choose another (sgd, adamw, ...), or take the key out",
      optimizer->name()));
}

void check_views(const train::Task& task, const BatchArithmetic& batches, std::int64_t last_batch) {
  const std::int64_t num_views = task.num_views();
  const int num_ranks = batches.world_size;
  if (num_views == 1) return;
  for (const std::int64_t size : {batches.global_batch_size, last_batch}) {
    const auto parts = train::split_sizes((size + num_ranks - 1) / num_ranks, size,
                                          batches.grad_accum_steps, num_ranks);
    const auto is_whole = [&](std::int64_t part) { return part % num_views == 0; };
    if (size % num_ranks == 0 && std::ranges::all_of(parts, is_whole)) continue;
    throw base::ConfigError(fmt::format(
        "loss.num_views: {} consecutive samples are views of one, and a batch of {} on {} ranks in "
        "{} microbatches would cut some apart: let data.global_batch_size be a multiple of {}, and "
        "write data.drop_last=true",
        num_views, size, num_ranks, batches.grad_accum_steps,
        num_views * num_ranks * batches.grad_accum_steps));
  }
}

void check_least_samples(std::span<const std::unique_ptr<train::Algorithm>> algorithms,
                         const BatchArithmetic& batches, std::int64_t last_batch) {
  const int num_ranks = batches.world_size;
  for (const auto& algorithm : algorithms) {
    const std::int64_t least = algorithm->traits().least_samples;
    for (const std::int64_t size : {batches.global_batch_size, last_batch}) {
      std::int64_t fewest = least;
      for (const std::int64_t share : {size / num_ranks, (size + num_ranks - 1) / num_ranks}) {
        for (const std::int64_t part :
             train::split_sizes(share, size, batches.grad_accum_steps, num_ranks)) {
          if (part > 0) fewest = std::min(fewest, part);
        }
      }
      if (fewest == least) continue;
      throw base::ConfigError(fmt::format(
          "algorithms.{}: it needs {} samples in each microbatch of a rank, and a batch of {} on "
          "{} ranks in {} microbatches leaves {}: choose a smaller number there, a larger batch, "
          "fewer microbatches (train.grad_accum_steps){}",
          algorithm->name(), least, size, num_ranks, batches.grad_accum_steps, fewest,
          size == last_batch ? ", or data.drop_last=true: it is an epoch's last batch" : ""));
    }
  }
}

void check_metric_names(const Recipe& recipe, bool evaluates, const train::Task& task,
                        std::span<const std::unique_ptr<train::Algorithm>> algorithms,
                        std::span<const std::unique_ptr<train::Callback>> callbacks) {
  std::vector<std::string> names;
  const auto add_names = [&](const std::string& prefix) {
    names.push_back(prefix + "/loss");
    for (const train::Metric& metric : task.metrics()) names.push_back(prefix + "/" + metric.name);
    for (const std::string& name : task.eval_metrics()) names.push_back(prefix + "/" + name);
  };
  add_names("val");
  for (const auto& algorithm : algorithms) {
    const train::AlgorithmTraits traits = algorithm->traits();
    if (traits.has_weights && !traits.stands_for_weights)
      add_names(fmt::format("val_{}", algorithm->name()));
  }
  std::vector<std::string> problems = wrong_scalars(algorithms, callbacks);
  for (const auto& [key, metric] :
       metrics_in_use(recipe, evaluates, task.metrics(), algorithms, callbacks)) {
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

std::vector<std::string> problems_without_data(const config::Loaded<Recipe>& loaded,
                                               const Registries& registries) {
  const train::Precision precision = loaded.value.train.precision;
  Recipe recipe = loaded.value;
  recipe.train.precision =
      train::choose_precision(precision, at::kCPU).precision;  // whatever auto is
  std::vector<std::string> problems;
  const auto attempt = [&](const auto& build) {
    try {
      build();
    } catch (const base::Error& error) {
      if (std::ranges::find(problems, error.what()) == problems.end())
        problems.emplace_back(error.what());
    }
  };
  attempt([&] { registries.datasets.build(recipe.data.source)->check_place(); });
  attempt([&] { check_schedule(recipe, registries); });
  bool knows_weights = true;
  try {
    knows_weights = take_known_preprocessing(registries, recipe);
  } catch (const base::Error&) {  // told where the weights are looked at
  }
  std::vector<nn::SampleSizes> sizes;
  for (const data::Split split : {data::Split::kTrain, data::Split::kVal}) {
    if (split == data::Split::kVal && !recipe.train.eval_every) continue;
    attempt([&] {
      const auto of_split = sizes_of_split(recipe, registries, split);
      if (of_split && (knows_weights || !leaves_size_to_weights(recipe.data, split)))
        sizes.push_back(*of_split);
    });
  }
  std::unique_ptr<optim::OptimizerPlan> plan;
  attempt([&] { plan = registries.optimizers.build(recipe.optimizer); });
  if (precision != train::Precision::kAuto)  // else by the device
    attempt([&] { check_strategy_options(recipe); });
  std::vector<std::unique_ptr<train::Algorithm>> algorithms;
  for (const auto& [name, component] : recipe.algorithms)
    attempt([&] { algorithms.push_back(registries.algorithms.build(component)); });
  attempt([&] { train::bring_together(algorithms); });
  if (recipe.model.pretrained) {
    attempt([&] {
      if (check_weight_source(recipe)) return;  // else a file of this machine
      find_weights(*recipe.model.pretrained);
      Recipe changed = recipe;
      take_surgery_of_weights(registries, changed);
    });
  }
  std::vector<std::unique_ptr<train::Callback>> callbacks;
  for (const auto& [name, component] : recipe.callbacks)
    attempt([&] { callbacks.push_back(registries.callbacks.build(component)); });
  attempt([&] { train::check_intervals(callbacks); });
  if (!recipe.model.freeze.empty()) attempt([&] { make_task(recipe, registries); });
  recipe.model.freeze.clear();  // told, if it is wrong
  attempt([&] { num_outputs_of_task(recipe, loaded.written, registries); });
  attempt([&] {
    const auto task = make_task(recipe, registries);
    if (plan) group_rules(*plan, task->network());
    for (const nn::SampleSizes& of_split : sizes) task->check_samples({.sizes = of_split});
    check_metric_names(recipe, recipe.train.eval_every.has_value(), *task, algorithms, callbacks);
    const int num_norms =
        nn::set_batch_norm_frozen(task->network(), recipe.model.freeze_batch_norm);
    if (recipe.parallel.sync_batch_norm && num_norms == 0)
      throw base::ConfigError(no_batch_norm(recipe, "parallel.sync_batch_norm"));
  });
  return problems;
}

std::vector<std::string> problems_without_data(std::span<const Phase> phases,
                                               const Registries& registries) {
  std::vector<std::string> problems;
  std::set<std::string> known;  // what several phases have in common is told of the first
  for (const Phase& phase : phases) {
    for (const std::string& problem : problems_without_data(phase.recipe, registries))
      if (known.insert(problem).second)
        problems.push_back(phase.name.empty() ? problem
                                              : fmt::format("phase {}: {}", phase.name, problem));
  }
  return problems;
}

}  // namespace paceline::app
