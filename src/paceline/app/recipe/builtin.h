#pragma once

#include "paceline/app/recipe/foreign_names.h"
#include "paceline/config/bind.h"
#include "paceline/config/registry.h"
#include "paceline/data/builtin_datasets.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/loader/sampler.h"
#include "paceline/data/transforms/configs.h"
#include "paceline/loggers/sink_context.h"
#include "paceline/metrics/metric_sink.h"
#include "paceline/nn/losses.h"
#include "paceline/nn/network.h"
#include "paceline/optim/optimizer.h"
#include "paceline/optim/param_groups.h"
#include "paceline/optim/schedule.h"
#include "paceline/train/algorithm.h"
#include "paceline/train/task.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// An optimizer before the strategy has laid out the parameters.
struct OptimizerPlan {
  double lr = 0;                           ///< base learning rate, which the schedule scales
  std::vector<optim::GroupRule> rules;     ///< how parameters are divided; see group_rules()
  std::map<std::string, double> lr_scale;  ///< factors by nn::NetworkPart
  std::function<std::unique_ptr<optim::Optimizer>(std::vector<optim::ParamGroup>)> make;
};

/// A data set before it is opened: its splits and the usual transforms of its images.
struct DatasetPlan {
  /// `val_path`: where the validation part lies, if not where the recipe's path says. Throws
  /// DataError.
  std::function<std::unique_ptr<data::Dataset>(data::Split split,
                                               const std::shared_ptr<const data::Storage>& storage,
                                               const std::optional<std::string>& val_path)>
      open;
  int default_image_size = 224;
  std::function<std::vector<data::TransformConfig>(int image_size)> train_transforms;
  std::function<std::vector<data::TransformConfig>(int image_size)> eval_transforms;
  /// Throws ConfigError if the recipe does not say where the data are; opens nothing.
  std::function<void()> check_place = [] {};
  /// What makes samples that are no labelled images, for which a recipe's transforms have no say;
  /// empty: they are. The data set outlives the maker.
  std::function<std::shared_ptr<const data::SampleMaker>(const data::Dataset& dataset,
                                                         data::Split split)>
      make_samples = {};
};

/// What a recipe gives a task, to be made if the task wants it.
struct TaskParts {
  std::function<std::shared_ptr<nn::Network>()> make_network;  ///< of `model`
  std::function<std::shared_ptr<nn::Loss>()> make_loss;        ///< of `loss`
};

/// All components, by kind and name: what a recipe can name and `paceline list` shows.
struct Registries {
  config::Registry<train::Task, const TaskParts&> tasks{"task"};
  config::Registry<nn::Network> models{"model"};
  config::Registry<DatasetPlan> datasets{"dataset"};
  config::Registry<data::TransformConfig> transforms{"transform"};
  config::Registry<data::Sampler, const data::Dataset&, std::uint64_t> samplers{"sampler"};
  config::Registry<OptimizerPlan> optimizers{"optimizer"};
  config::Registry<optim::Schedule, const optim::RunLength&> schedules{"schedule"};
  config::Registry<nn::Loss> losses{"loss"};
  config::Registry<train::Algorithm> algorithms{"algorithms"};
  config::Registry<train::Callback> callbacks{"callbacks"};
  config::Registry<metrics::MetricSink, const loggers::SinkContext&> loggers{"loggers"};

  /// For messages about what is none of these.
  KnownForeignNames foreign_names{algorithms};

  /// By the kinds that Schema<Recipe> names.
  config::Catalogs catalogs() const;
  /// For reading recipes: with paths as absolute_path() has them. `world_size` as in BindContext.
  config::BindContext context(int world_size) const;
};

/// The components that come with paceline. A new one is its folder and one line in builtin.cpp.
std::unique_ptr<Registries> make_registries();

}  // namespace paceline::app
