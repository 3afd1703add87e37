#include "paceline/app/batch_find/batch_keys.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace paceline::app {
namespace {

/// Of an override: "++train.grad_accum_steps=2" is of train.grad_accum_steps.
std::string_view key_of(std::string_view override) {
  override.remove_prefix(std::min(override.find_first_not_of("+~"), override.size()));
  return override.substr(0, override.find('='));
}

}  // namespace

std::vector<std::string> largest_batch_keys(const Recipe& recipe, std::int64_t samples_per_rank) {
  std::vector<std::string> keys;
  if (recipe.data.global_batch_size) keys.emplace_back("data.global_batch_size=null");
  keys.push_back(fmt::format("data.batch_size_per_rank={}", samples_per_rank));
  if (recipe.train.grad_accum_steps > 1) keys.emplace_back("train.grad_accum_steps=1");
  return keys;
}

std::optional<int> fewest_microbatches(std::int64_t share, std::int64_t most,
                                       const std::function<bool(std::int64_t)>& fits) {
  for (std::int64_t microbatch = std::min(share, most); microbatch > 0; --microbatch) {
    const std::int64_t steps = (share + microbatch - 1) / microbatch;
    if (steps > std::numeric_limits<int>::max()) return std::nullopt;
    if (fits((share + steps - 1) / steps)) return static_cast<int>(steps);
  }
  return std::nullopt;
}

std::vector<std::string> lr_scaling_keys(const Recipe& recipe, std::int64_t own_global_batch,
                                         std::int64_t found_global_batch) {
  if (own_global_batch == found_global_batch || recipe.train.lr_scaling != train::LrScaling::kNone)
    return {};
  const std::string& optimizer = recipe.optimizer.name;
  const bool is_linear = optimizer == "sgd" || optimizer == "lars";
  return {fmt::format("train.lr_scaling={}", is_linear ? "linear" : "sqrt"),
          fmt::format("train.lr_base_batch_size={}", own_global_batch)};
}

std::vector<std::string> overrides_with(const std::vector<std::string>& overrides,
                                        const std::vector<std::string>& keys) {
  std::vector<std::string> all;
  for (const std::string& override : overrides) {
    const bool is_set_again = std::ranges::any_of(
        keys, [&](const std::string& key) { return key_of(key) == key_of(override); });
    if (!is_set_again) all.push_back(override);
  }
  all.insert(all.end(), keys.begin(), keys.end());
  return all;
}

}  // namespace paceline::app
