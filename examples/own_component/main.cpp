// A program of one's own: everything that paceline-rank does, with recipes that can also name five
// components from series.h. Started as `paceline launch --nproc 2 -- ./own_component train RECIPE`.

#include "schemas.h"

namespace {

void add_own(paceline::app::Registries& registries) {
  namespace app = paceline::app;
  using namespace own;
  registries.datasets.add<SeriesConfig>([](const SeriesConfig& config) {
    auto plan = std::make_unique<app::DatasetPlan>();
    plan->open = [config](auto&&...) { return std::make_unique<Series>(config.num_samples); };
    plan->make_samples = [](auto&&...) { return std::make_shared<SeriesMaker>(); };
    return plan;
  });
  registries.models.add<LineConfig>(
      [](const LineConfig& config) { return std::make_unique<Line>(config); });
  registries.tasks.add<RegressionConfig>([](const RegressionConfig&, const app::TaskParts& parts) {
    return std::make_unique<Regression>(parts.make_network());
  });
  registries.algorithms.add<ClampConfig>(
      [](const ClampConfig& config) { return std::make_unique<Clamp>(config); });
  registries.loggers.add<LastLossConfig>([](const LastLossConfig& config, const auto& run) {
    return std::make_unique<LastLoss>(run.run_directory / config.file);
  });
}

}  // namespace

int main(int argc, char** argv) { return paceline::cli::run_program(argc, argv, add_own); }
