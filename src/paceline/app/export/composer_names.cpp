#include "paceline/app/export/composer_names.h"

#include "paceline/algorithms/blurpool/blurpool.h"
#include "paceline/algorithms/factorize/factorize.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/export/composer_calls.h"
#include "paceline/base/error.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/factors/factors.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace paceline::app {
namespace {

using checkpoint::TensorSource;

[[noreturn]] void refuse(const std::string& why) {
  throw base::ConfigError(fmt::format("--names composer: {}; leave --names out", why));
}

/// Composer's surgery looks for torchvision's classes.
void check_model(const Recipe& recipe) {
  const std::string& name = recipe.model.network.name;
  const config::Node options = config::options_of(recipe.model.network);
  const auto text = [&](const char* key) {
    const config::Node* const value = options.find(key);
    return value == nullptr ? "" : value->text;
  };
  if (options.find("shortcut") == nullptr)
    refuse(fmt::format("Composer changes torchvision's ResNets, and the model is {}", name));
  constexpr std::array<std::pair<const char*, const char*>, 4> kTorchvisions{
      {{"stem", "imagenet"}, {"shortcut", "projection"}, {"width", "64"}, {"head", "linear"}}};
  for (const auto& [key, wanted] : kTorchvisions) {
    if (text(key) != wanted)
      refuse(fmt::format(
          "Composer changes torchvision's ResNets, of which none has model.{}: {}, as {} here", key,
          text(key), name));
  }
  constexpr std::size_t kStages = 4;
  if (options.find("layers")->items.size() != kStages)
    refuse(fmt::format("torchvision's ResNets have {} layers of blocks, {} here {}", kStages, name,
                       options.find("layers")->items.size()));
}

/// The parts of a name around its last dot.
std::pair<std::string, std::string> split_last(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

/// The layer of which this is the first of two factors; itself if it is none.
std::string whole_layer(const std::string& layer) {
  return nn::is_of_first_factor(layer) ? split_last(layer).first : layer;
}

/// What Composer calls layers and tensors.
class Places {
 public:
  Places(const checkpoint::SurgeryRecord& record, bool has_ghost_norms,
         const std::vector<TensorSource>& tensors) {
    for (const checkpoint::Surgery& surgery : record) {
      for (const auto& [kind, names] : surgery.layers)
        changed_[surgery.algorithm].insert(names.begin(), names.end());
    }
    for (const TensorSource& tensor : tensors) {
      const auto [layer, leaf] = split_last(tensor.name);
      if (has_ghost_norms && leaf == "running_mean") ghost_norms_.insert(layer);
    }
  }

  std::string of_tensor(const std::string& name) const {
    const auto [layer, leaf] = split_last(name);
    for (const auto& [ours, theirs] : {std::pair{".se.fc1", "2"}, std::pair{".se.fc2", "4"}}) {
      if (!layer.ends_with(ours)) continue;
      const std::string weighed = layer.substr(0, layer.size() - std::string_view(ours).size());
      return fmt::format("{}.se.pool_and_mlp.{}.{}", weighed, theirs, leaf);
    }
    std::string place = of_layer(layer);
    if (is_changed("blurpool", layer)) place += ".conv";
    if (ghost_norms_.contains(layer)) place += ".batchnorm";
    return place.empty() ? leaf : place + "." + leaf;
  }

  /// Of what stands there in Composer, which may hold the layer itself as its `conv`.
  std::string of_layer(const std::string& layer) const {
    const std::string whole = whole_layer(layer);
    std::string place = whole;
    if (is_changed("squeeze_excite", whole)) place += ".conv";
    if (is_changed("factorize", whole)) place += whole == layer ? ".module1" : ".module0";
    return place;
  }

 private:
  bool is_changed(const std::string& algorithm, const std::string& layer) const {
    const auto found = changed_.find(algorithm);
    return found != changed_.end() && found->second.contains(layer);
  }

  std::map<std::string, std::set<std::string>> changed_;  // layers by algorithm
  std::set<std::string> ghost_norms_;
};

/// Its linear layers are 1x1 convolutions here.
bool is_excitation(const std::string& name) {
  return name.ends_with(".se.fc1.weight") || name.ends_with(".se.fc2.weight");
}

TensorSource renamed(TensorSource tensor, const Places& places) {
  if (is_excitation(tensor.name)) {
    tensor.shape.resize(2);
    tensor.load = [load = std::move(tensor.load)] { return load().flatten(1); };
  }
  tensor.name = places.of_tensor(tensor.name);
  return tensor;
}

TensorSource blur_filter(std::string name, std::int64_t channels) {
  return {std::move(name), at::kFloat, {channels, 1, 3, 3}, [channels] {
            return algorithms::blur_kernel(at::kFloat).expand({channels, 1, 3, 3}).contiguous();
          }};
}

/// How many channels of each of these layers are blurred: those that it takes, or gives out.
std::vector<TensorSource> blur_filters(const checkpoint::Surgery& surgery, const Places& places,
                                       const std::vector<TensorSource>& tensors,
                                       const torch::nn::Module& network) {
  const bool blurs_first =
      config::parse_yaml(surgery.options, surgery.algorithm).find("blur_first")->text == "true";
  const auto modules = network.named_modules();
  std::vector<TensorSource> filters;
  for (const auto& [kind, layers] : surgery.layers) {
    for (const std::string& layer : layers) {
      if (kind == "max-pools") {
        filters.push_back(blur_filter(layer + ".filt2d", 1));
        continue;
      }
      const auto weight = std::ranges::find(tensors, layer + ".weight", &TensorSource::name);
      PACELINE_CHECK(weight != tensors.end(), "{} has no weight", layer);
      const auto conv = std::dynamic_pointer_cast<nn::Conv2d>(modules[whole_layer(layer)]);
      PACELINE_CHECK(conv != nullptr, "{} is no convolution", layer);
      filters.push_back(blur_filter(places.of_layer(layer) + ".blur_filter",
                                    blurs_first ? conv->in_channels() : weight->shape[0]));
    }
  }
  return filters;
}

/// Composer's Factorize takes squeeze_excite's linear layers apart, too, if they are wide; in the
/// other order what is squeezed is each factor.
void check_excitations(const config::Node& options, const std::vector<TensorSource>& tensors) {
  const auto number = [&](const char* key) { return std::stod(options.find(key)->text); };
  if (options.find("factorize_linears")->text != "true") return;
  for (const TensorSource& tensor : tensors) {
    if (!is_excitation(tensor.name)) continue;
    const std::int64_t out = tensor.shape[0];
    const std::int64_t in = tensor.shape[1];
    if (static_cast<double>(std::min(in, out)) < number("min_features")) continue;
    const std::int64_t latent = algorithms::latent_size(number("latent_features"), in, out);
    if (latent > algorithms::most_latent(in, out)) continue;
    refuse(
        fmt::format("Composer's Factorize makes two layers of those of its SqueezeExcite, too, "
                    "which here are whole ({}: {} to {})",
                    tensor.name, in, out));
  }
}

void check_changes(const Recipe& recipe, const checkpoint::SurgeryRecord& record,
                   const std::vector<TensorSource>& tensors) {
  const auto is_excited =
      std::ranges::find(record, "squeeze_excite", &checkpoint::Surgery::algorithm) != record.end();
  for (const checkpoint::Surgery& surgery : record) {
    const std::string& name = surgery.algorithm;
    if (!is_composers(name))
      refuse(fmt::format("the network was changed by {}, which Composer has not", name));
    if (name == "stochastic_depth" &&
        config::options_of(recipe.model.network).find("block")->text != "bottleneck")
      refuse(fmt::format("Composer's StochasticDepth changes bottlenecks, and {} has basic blocks",
                         recipe.model.network.name));
    if (name == "factorize" && is_excited)
      check_excitations(config::parse_yaml(surgery.options, name), tensors);
  }
}

}  // namespace

ComposerModel as_composers(const Recipe& recipe, const checkpoint::SurgeryRecord& record,
                           std::vector<TensorSource> tensors, const Registries& registries) {
  check_model(recipe);
  check_changes(recipe, record, tensors);
  const auto task = make_task(recipe, registries);
  const Places places(record, recipe.algorithms.contains("ghost_batchnorm"), tensors);
  ComposerModel model{{}, composer_calls(recipe, record)};
  std::vector<TensorSource> filters;
  for (const checkpoint::Surgery& surgery : record) {
    if (surgery.algorithm == "blurpool")
      filters = blur_filters(surgery, places, tensors, task->network());
  }
  for (TensorSource& tensor : tensors) model.tensors.push_back(renamed(std::move(tensor), places));
  std::ranges::move(filters, std::back_inserter(model.tensors));
  return model;
}

}  // namespace paceline::app
