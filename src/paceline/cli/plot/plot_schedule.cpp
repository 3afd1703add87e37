#include "paceline/cli/plot/plot_schedule.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/schedule_curves.h"
#include "paceline/base/file.h"
#include "paceline/cli/plot/chart.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace paceline::cli {
namespace {

constexpr int kMostPoints = 2000;
constexpr std::size_t kMostRows = 40;  // of a table
constexpr int kRows = 12;

Chart chart_of(const app::ScheduleCurve& curve, const std::string& phase) {
  Chart chart{phase.empty() ? curve.name : phase + ": " + curve.name, "steps", {}, curve.values};
  for (const std::int64_t step : curve.steps) chart.x.push_back(static_cast<double>(step));
  return chart;
}

/// A line for each of some steps, and one that names the columns.
void print_table(const app::ScheduleCurve& curve, std::int64_t steps_per_epoch) {
  fmt::print("step\tepoch\t{}\n", curve.name);
  const std::size_t count = curve.steps.size(), rows = std::min(count, kMostRows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t at = rows == 1 ? 0 : i * (count - 1) / (rows - 1);
    fmt::print("{}\t{:.4g}\t{:.6g}\n", curve.steps[at],
               static_cast<double>(curve.steps[at]) / static_cast<double>(steps_per_epoch),
               curve.values[at]);
  }
}

}  // namespace

void plot_schedules(std::span<const app::Phase> phases, const PlotRequest& request,
                    const app::Registries& registries) {
  const int columns = terminal_columns();
  std::vector<Chart> charts;
  for (const app::Phase& phase : phases) {
    const app::Recipe& recipe = phase.recipe.value;
    const std::int64_t num_samples =
        request.num_samples ? *request.num_samples
                            : app::open_dataset(recipe, registries, data::Split::kTrain,
                                                /*interruption=*/nullptr)
                                  ->size();
    const app::ScheduleCurves run =
        app::schedule_curves(recipe, registries, num_samples, request.world_size, kMostPoints);
    const std::string name = phase.name.empty() ? "" : "phase " + phase.name;
    fmt::print("{}{}{} steps, {} an epoch; constant: {}\n", name, name.empty() ? "" : ": ",
               run.total_steps, run.steps_per_epoch, fmt::join(run.constants, ", "));
    for (const app::ScheduleCurve& curve : run.curves) {
      charts.push_back(chart_of(curve, name));
      if (columns > 0)
        fmt::print("{}", text_chart(charts.back(), columns, kRows));
      else
        print_table(curve, run.steps_per_epoch);
    }
  }
  if (request.svg.empty()) return;
  base::RealFileSystem files;
  const std::string svg = svg_charts(charts);
  base::write_file_atomically(files, request.svg, svg);
  fmt::print("drawn in {}\n", request.svg.string());
}

}  // namespace paceline::cli
