#include "paceline/app/assembly/initial_values.h"

#include "paceline/app/assembly/factor_values.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/nn/adaptation/find_adaptation.h"
#include "paceline/nn/module_tree.h"
#include "paceline/nn/network_parts.h"
#include "paceline/tensor/host_tensor.h"
#include "paceline/tensor/storage.h"

#include <algorithm>
#include <memory>

namespace paceline::app {
namespace {

/// What is allowed, and hardly ever meant.
void add_notes_on_head(const checkpoint::WeightImport& import, const nn::Network& network,
                       std::span<const std::string> class_names, std::vector<std::string>& notes) {
  constexpr std::size_t kMost = 5;
  if (import.lacks_head()) {
    if (!nn::head_weight(network).requires_grad())
      notes.emplace_back(
          "model.freeze holds the head, which is drawn anew and would never learn: take it out");
    return;
  }
  if (import.class_names().empty() || std::ranges::equal(import.class_names(), class_names)) return;
  notes.push_back(fmt::format(
      "the weights' head tells {}, and the data have {}: it starts from what it learnt "
      "of other classes",
      base::join_first(import.class_names(), kMost), base::join_first(class_names, kMost)));
}

/// How weights are chosen and made to fit this network.
checkpoint::ImportOptions import_options(const ModelSection& model, const nn::Network& network) {
  return {.key = model.pretrained_key.value_or(""),
          .adaptation_of = nn::find_adaptation(network),
          .is_strict = model.pretrained_strict};
}

/// Says of which model.pretrained has the factors.
std::vector<FactoredWeight> with_stored(const ModelSection& model,
                                        std::vector<FactoredWeight> weights) {
  if (!model.pretrained || weights.empty()) return weights;
  const auto stored =
      checkpoint::names_in_weights(*model.pretrained, model.pretrained_key.value_or(""));
  for (FactoredWeight& weight : weights) weight.is_stored = stored.contains(weight.first.name);
  return weights;
}

/// What an algorithm draws anew is not what someone who names weights wants.
void refuse_lost_weights(const std::string& path, const checkpoint::WeightImport& weights,
                         const FactorValues& factors) {
  std::vector<std::string> lost;
  for (const FactoredWeight& weight : factors.weights()) {
    if (!weight.is_stored && tensor::has_memory(weight.first.tensor) &&
        weights.has(weight.whole.name))
      lost.push_back(weight.whole.name);
  }
  if (lost.empty()) return;
  constexpr std::size_t kMost = 3;
  throw base::ConfigError(
      fmt::format("algorithms.factorize.init: fresh draws anew what model.pretrained ({}) has "
                  "values for, {}: take init: svd, which starts from them",
                  path, base::join_first(lost, kMost)));
}

/// What weights have for a parameter of a network, or for the one that it starts from; false if
/// they have nothing.
bool copy_stored(const checkpoint::WeightImport& weights, const nn::Network& network,
                 const std::string& name, const at::Tensor& parameter) {
  if (weights.copy(name, parameter)) return true;
  const std::optional<std::string> from = network.grown_from(name);
  return from && !from->empty() && weights.copy(*from, parameter);
}

/// The weights that model.pretrained names; what has memory already is copied.
std::shared_ptr<checkpoint::WeightImport> open_pretrained(const ModelSection& model,
                                                          const nn::Network& network,
                                                          const TensorOrigins& origins,
                                                          const FactorValues& factors,
                                                          std::vector<std::string>& notes) {
  std::vector<checkpoint::NamedTensor> tensors;
  for (const nn::NamedTensor& named : origins.tensors()) {
    if (!factors.is_stored(named.name)) tensors.push_back({named.name, named.tensor});
  }
  checkpoint::ImportOptions options = import_options(model, network);
  for (const nn::NamedTensor& named : nn::state_dict(network)) {
    const FactoredWeight* const factored = factors.find(named.tensor);
    if (origins.find(named.tensor) != nullptr || (factored && !factored->is_stored)) continue;
    tensors.push_back({named.name, named.tensor});
    if (!factored) options.may_lack.insert(named.name);
  }
  for (const nn::NamedTensor& named : origins.tensors()) {
    if (named.is_parameter && network.grown_from(named.name)) options.may_lack.insert(named.name);
  }
  auto weights = std::make_shared<checkpoint::WeightImport>(*model.pretrained, tensors,
                                                            network.head_names(), options);
  refuse_lost_weights(*model.pretrained, *weights, factors);
  for (const auto& [name, tensor] : tensors) {
    if (tensor::has_memory(tensor)) weights->copy(name, tensor);
  }
  notes.push_back(fmt::format("starts from the weights in {}, {} of {} tensors", *model.pretrained,
                              weights->num_tensors(), tensors.size()));
  notes.insert(notes.end(), weights->notes().begin(), weights->notes().end());
  return weights;
}

}  // namespace

TensorOrigins::TensorOrigins(const nn::Network& network) : tensors_(nn::state_dict(network)) {
  std::uint64_t number = 0;
  for (const nn::NamedTensor& named : tensors_) {
    origins_.emplace(named.tensor.unsafeGetTensorImpl(), Origin{named.name, number});
    if (named.is_parameter) ++number;
  }
}

const TensorOrigins::Origin* TensorOrigins::find(const at::Tensor& tensor) const {
  const auto found = origins_.find(tensor.unsafeGetTensorImpl());
  return found == origins_.end() ? nullptr : &found->second;
}

parallel::FillValues initial_values(const Recipe& recipe, const nn::Network& network,
                                    const TensorOrigins& origins,
                                    std::span<const std::string> class_names,
                                    std::vector<std::string>& notes) {
  const auto factors =
      std::make_shared<FactorValues>(with_stored(recipe.model, factored_weights(network, origins)));
  std::shared_ptr<checkpoint::WeightImport> weights;
  if (recipe.model.pretrained) {
    weights = open_pretrained(recipe.model, network, origins, *factors, notes);
    add_notes_on_head(*weights, network, class_names, notes);
  }
  const auto known = std::make_shared<const TensorOrigins>(origins);
  const auto draw = [&network, seed = recipe.run.seed](const std::string& name,
                                                       std::uint64_t number,
                                                       const at::Tensor& parameter) {
    tensor::fill_on_host(parameter, [&](const at::Tensor& host) {
      network.initialize_parameter({name, host}, {.seed = seed, .index = number});
    });
  };
  return [=, &network](const nn::NamedTensor& parameter) {
    if (const FactoredWeight* const weight = factors->find(parameter.tensor)) {
      if (weight->is_stored && weights->copy(parameter.name, parameter.tensor)) return;
      factors->fill(*weight, parameter.tensor, [&](const FactoredWeight& of, const auto& whole) {
        if (weights && !of.is_stored && weights->copy(of.whole.name, whole)) return;
        draw(of.whole.name, of.number, whole);
      });
      return;
    }
    const TensorOrigins::Origin* const origin = known->find(parameter.tensor);
    PACELINE_CHECK(origin != nullptr, "an algorithm added {} without values", parameter.name);
    if (weights && copy_stored(*weights, network, origin->name, parameter.tensor)) return;
    draw(origin->name, origin->number, parameter.tensor);
  };
}

}  // namespace paceline::app
