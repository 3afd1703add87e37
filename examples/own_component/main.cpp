// A program of one's own: everything that paceline-rank does, with recipes that can also name five
// components from series.h. Started as `paceline launch --nproc 2 -- ./own_component train RECIPE`.

#include "schemas.h"

namespace {

void add_own(paceline::app::Registries& registries) {
  using namespace own;
  registries.datasets.add<SeriesConfig>();
  registries.models.add<LineConfig>();
  registries.tasks.add<RegressionConfig>();
  registries.algorithms.add<ClampConfig>();
  registries.loggers.add<LastLossConfig>();
}

}  // namespace

int main(int argc, char** argv) { return paceline::cli::run_program(argc, argv, add_own); }
