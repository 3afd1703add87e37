#pragma once

#include "paceline/app/memory_estimate.h"
#include "paceline/train/shaped_task.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::app {

/// A GPU by the name that users give it, "a100-80gb".
struct MemoryDevice {
  std::string_view name;
  std::uint64_t bytes = 0;  ///< as its driver reports them

  /// Without what the driver and libraries take for themselves.
  std::uint64_t usable_bytes() const;
};

/// Those that are known.
std::span<const MemoryDevice> memory_devices();
/// Throws ConfigError, with the known names, for another one.
const MemoryDevice& memory_device(std::string_view name);

/// What one phase of a recipe needs on a rank with a GPU.
struct MemoryFit {
  std::string phase = {};        ///< empty: the recipe has none
  MemoryEstimate need = {};      ///< of the recipe's batch, under its strategy
  std::uint64_t per_sample = 0;  ///< activations of one more sample
  /// The most samples at once that fit, as the recipe says and with every block computed again; 0:
  /// not even one.
  std::int64_t largest = 0;
  std::int64_t largest_again = 0;
  double forward_flops = 0;  ///< of a sample; backward takes twice as many
  std::optional<train::PublishedTraining> published = {};
  std::uint64_t at_published_batch = 0;           ///< in all; 0: nothing is published
  std::optional<double> samples_per_second = {};  ///< of a rank, as a run has measured it
};

/// Of a recipe, the precision of which is resolved, on GPUs such as `device`: no checkpoint is
/// copied there, and of the data two batches. Throws ConfigError.
MemoryFit fit_memory(const Recipe& recipe, const Registries& registries, MemoryQuestion question,
                     const MemoryDevice& device);

/// Samples a second and rank of a run, or of its phase of that name, by its summary.json; nothing
/// where there is none.
std::optional<double> measured_speed(const std::filesystem::path& run, const std::string& phase);

}  // namespace paceline::app
