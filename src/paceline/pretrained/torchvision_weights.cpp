#include "paceline/pretrained/torchvision_weights.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <cstdlib>
#include <vector>

namespace paceline::pretrained {
namespace {

constexpr TorchvisionWeights kTable[] = {
#include "paceline/pretrained/torchvision_table.inc"
};

std::vector<std::string> weights_of_model(std::string_view model) {
  std::vector<std::string> names;
  for (const TorchvisionWeights& weights : kTable)
    if (weights.model == model) names.emplace_back(weights.weights);
  return names;
}

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const TorchvisionWeights& weights : kTable)
    if (names.empty() || names.back() != weights.model) names.emplace_back(weights.model);
  return names;
}

[[noreturn]] void refuse_model(const std::string& model) {
  const std::string nearest = base::nearest_name(model, models());
  throw base::ConfigError(fmt::format(
      "model.pretrained: torchvision publishes no weights of a model '{}'{}; name its model where "
      "it calls it otherwise, as in torchvision:resnet50/IMAGENET1K_V2",
      model, nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
}

}  // namespace

std::span<const TorchvisionWeights> torchvision_weights() { return kTable; }

const TorchvisionWeights& find_torchvision_weights(const TorchvisionSource& source,
                                                   const std::string& model) {
  const std::string& wanted = source.model.empty() ? model : source.model;
  for (const TorchvisionWeights& weights : kTable) {
    const bool is_named = weights.weights == source.weights;
    if (weights.model == wanted &&
        (is_named || (source.weights == "DEFAULT" && weights.is_default)))
      return weights;
  }
  const std::vector<std::string> names = weights_of_model(wanted);
  if (names.empty()) refuse_model(wanted);
  throw base::ConfigError(
      fmt::format("model.pretrained: torchvision has no weights '{}' of {}; it has {}",
                  source.weights, wanted, base::join(names, ", ")));
}

std::string url_of(const TorchvisionWeights& weights) {
  const char* const mirror = std::getenv("PACELINE_TORCHVISION_URL");
  std::string url =
      mirror == nullptr || *mirror == '\0' ? "https://download.pytorch.org/models" : mirror;
  while (url.ends_with('/')) url.pop_back();
  return fmt::format("{}/{}", url, weights.file);
}

std::string describe(const TorchvisionWeights& weights) {
  return fmt::format("torchvision:{}/{}", weights.model, weights.weights);
}

}  // namespace paceline::pretrained
