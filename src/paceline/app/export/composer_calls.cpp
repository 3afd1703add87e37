#include "paceline/app/export/composer_calls.h"

#include "paceline/base/error.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace paceline::app {
namespace {

/// A setting here, and the argument there.
struct Argument {
  std::string_view key;
  std::string_view name;
};

struct Call {
  std::string_view algorithm;
  std::string_view function;
  std::array<Argument, 6> arguments;  ///< those that it has, then empty ones
  std::string_view more = "";         ///< written before them
};

/// In Composer's order.
constexpr std::array kCalls{
    Call{"squeeze_excite",
         "apply_squeeze_excite",
         {{{"latent_channels", "latent_channels"}, {"min_channels", "min_channels"}}}},
    Call{"factorize",
         "apply_factorization",
         {{{"factorize_convs", "factorize_convs"},
           {"factorize_linears", "factorize_linears"},
           {"min_channels", "min_channels"},
           {"latent_channels", "latent_channels"},
           {"min_features", "min_features"},
           {"latent_features", "latent_features"}}}},
    Call{"blurpool",
         "apply_blurpool",
         {{{"replace_convs", "replace_convs"},
           {"replace_maxpools", "replace_maxpools"},
           {"blur_first", "blur_first"},
           {"min_channels", "min_channels"}}}},
    Call{"stochastic_depth",
         "apply_stochastic_depth",
         {{{"method", "stochastic_method"},
           {"drop_rate", "drop_rate"},
           {"distribution", "drop_distribution"}}},
         ", target_layer_name='ResNetBottleneck'"},
    Call{"ghost_batchnorm", "apply_ghost_batchnorm", {{{"ghost_batch_size", "ghost_batch_size"}}}},
};

std::string as_python(const std::string& value) {
  if (value == "true") return "True";
  if (value == "false") return "False";
  const bool is_number =
      !value.empty() && (value[0] == '.' || (value[0] >= '0' && value[0] <= '9'));
  return is_number ? value : fmt::format("'{}'", value);
}

std::string written(const Call& call, const config::Node& options) {
  std::string text = fmt::format("{}(model{}", call.function, call.more);
  for (const Argument& argument : call.arguments) {
    if (argument.key.empty()) break;
    const config::Node* const value = options.find(argument.key);
    PACELINE_CHECK(value != nullptr, "{} has no {}", call.algorithm, argument.key);
    text += fmt::format(", {}={}", argument.name, as_python(value->text));
  }
  return text + ")";
}

/// What the algorithm was told; nothing if it changed no network.
std::optional<config::Node> options_of_change(const std::string& algorithm, const Recipe& recipe,
                                              const checkpoint::SurgeryRecord& record) {
  const auto recorded = std::ranges::find(record, algorithm, &checkpoint::Surgery::algorithm);
  if (recorded != record.end()) return config::parse_yaml(recorded->options, algorithm);
  const auto own = recipe.algorithms.find(algorithm);
  if (algorithm != "ghost_batchnorm" || own == recipe.algorithms.end()) return std::nullopt;
  return config::options_of(own->second);
}

}  // namespace

bool is_composers(std::string_view algorithm) {
  return std::ranges::find(kCalls, algorithm, &Call::algorithm) != kCalls.end();
}

std::vector<std::string> composer_calls(const Recipe& recipe,
                                        const checkpoint::SurgeryRecord& record) {
  std::vector<std::string> calls;
  for (const Call& call : kCalls) {
    const auto options = options_of_change(std::string(call.algorithm), recipe, record);
    if (options) calls.push_back(written(call, *options));
  }
  return calls;
}

}  // namespace paceline::app
