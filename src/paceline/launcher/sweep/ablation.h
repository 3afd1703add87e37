#pragma once

#include "paceline/launcher/sweep/trials.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paceline::launcher {

/// Something of a recipe that an ablation leaves out.
struct AblationPart {
  std::string name = {};
  std::vector<std::string> off = {};  ///< overrides that leave it out

  bool operator==(const AblationPart&) const = default;
};

/// The parts that are asked for: an algorithm's name, several with '+' between them, which are left
/// out together, or an override that turns something off. None asked for: each algorithm of the
/// recipe. Throws ConfigError for an algorithm that the recipe has not, or if nothing is left.
std::vector<AblationPart> ablation_parts(std::span<const std::string> wanted,
                                         std::span<const std::string> algorithms);

/// What the setting of a trial says that leaves out a part.
inline constexpr const char* kWithout = "without";
/// And of one that leaves out nothing.
inline constexpr const char* kWhole = "nothing";

/// For each seed from `first_seed` on the whole recipe, and the recipe without each part; more
/// seeds leave the first trials as they are.
std::vector<Trial> ablation_trials(std::span<const AblationPart> parts, std::int64_t first_seed,
                                   int num_seeds);

/// A mean over samples.
struct Estimate {
  double mean = 0;
  std::optional<double> error =
      {};  ///< of the mean: s / sqrt(n), s with n - 1; nothing of one sample
  int count = 0;
};

/// Nothing without samples.
std::optional<Estimate> estimate(std::span<const double> samples);

/// What a trial of an ablation measured.
struct AblationSample {
  std::optional<double> metric = {};
  std::optional<double> step_ms = {};
};

/// What a part does: differences of the whole recipe and the one without it, seed by seed.
struct AblationRow {
  std::string part = {};
  std::optional<Estimate> whole = {};  ///< the metric, of seeds that have both
  std::optional<Estimate> without = {};
  std::optional<Estimate> metric_delta = {};   ///< above 0: the part makes the metric larger
  std::optional<Estimate> step_ms_delta = {};  ///< above 0: the part makes a step slower
};

/// `samples` are those of ablation_trials(), in their order.
std::vector<AblationRow> ablation_rows(std::span<const AblationPart> parts,
                                       std::span<const AblationSample> samples);

}  // namespace paceline::launcher
