#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/phases.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace paceline::cli {

/// What `paceline config plot-schedule` is asked for.
struct PlotRequest {
  std::optional<std::int64_t> num_samples;  ///< of the training split; nothing: the data say it
  int world_size = 1;
  std::filesystem::path svg;  ///< empty: none
};

/// Draws what the schedules of the phases do on the terminal, or prints them as a table where
/// standard output is none, and writes the SVG. Throws ConfigError, DataError, IoError.
void plot_schedules(std::span<const app::Phase> phases, const PlotRequest& request,
                    const app::Registries& registries);

}  // namespace paceline::cli
