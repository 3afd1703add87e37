#pragma once

#include "paceline/app/recipe/foreign_names.h"
#include "paceline/config/bind.h"
#include "paceline/config/registry.h"
#include "paceline/data/loader/sampler.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/transforms/transform.h"
#include "paceline/loggers/sink_context.h"
#include "paceline/metrics/metric_sink.h"
#include "paceline/nn/losses.h"
#include "paceline/nn/network.h"
#include "paceline/optim/optimizer_plan.h"
#include "paceline/optim/schedule.h"
#include "paceline/train/algorithm.h"
#include "paceline/train/task.h"

#include <cstdint>
#include <memory>

namespace paceline::app {

/// All components, by kind and name: what a recipe can name and `paceline list` shows.
struct Registries {
  config::Registry<train::Task, train::TaskParts&> tasks{"task"};
  config::Registry<nn::Network> models{"model"};
  config::Registry<data::DatasetPlan> datasets{"dataset"};
  config::Registry<data::Transform> transforms{"transform"};
  config::Registry<data::Sampler, const data::Dataset&, std::uint64_t> samplers{"sampler"};
  config::Registry<optim::OptimizerPlan> optimizers{"optimizer"};
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

/// The components that come with paceline. A new one is its own files and one line in builtin.cpp.
std::unique_ptr<Registries> make_registries();

}  // namespace paceline::app
