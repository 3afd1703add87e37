#include "paceline/app/assembly/first_weights.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/assembly/local_ranks.h"
#include "paceline/app/assembly/surgery.h"
#include "paceline/app/assembly/weight_preprocessing.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/json.h"
#include "paceline/base/log.h"
#include "paceline/comm/agreement.h"
#include "paceline/pretrained/fetch_weights.h"
#include "paceline/pretrained/preprocessing.h"
#include "paceline/pretrained/torchvision_weights.h"
#include "paceline/pretrained/weight_source.h"

#include <optional>
#include <variant>

#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

/// Weights of elsewhere, on this rank's machine.
pretrained::FetchedWeights fetch(const pretrained::WeightSource& source,
                                 comm::Communicator& communicator, base::FileSystem& files,
                                 const base::Interruption& interruption, const Recipe& recipe) {
  const std::string told = comm::first_of_place_decides(communicator, process_space(), [&] {
    const auto fetched = pretrained::fetch_weights(
        source, recipe.model.network.name,
        pretrained::make_fetch_context(recipe.data.remote, files, interruption));
    nlohmann::json json{{"path", fetched.path.string()}, {"origin", fetched.origin}};
    if (fetched.config) json["config"] = fetched.config->string();
    return json.dump();
  });
  const nlohmann::json json = base::parse_json(told);
  pretrained::FetchedWeights fetched{json.at("path").get<std::string>(),
                                     json.at("origin").get<std::string>()};
  if (json.contains("config")) fetched.config = json.at("config").get<std::string>();
  // A branch may have moved between the machines' downloads, or one of them have no network.
  comm::agree(communicator, {{"the weights of model.pretrained", fetched.origin}});
  return fetched;
}

/// As whoever published the weights prepares images for them; nothing if that is not told.
std::optional<pretrained::Preprocessing> preprocessing_of(
    const pretrained::WeightSource& source, const Recipe& recipe,
    const pretrained::FetchedWeights& fetched) {
  if (const auto* named = std::get_if<pretrained::TorchvisionSource>(&source))
    return pretrained::preprocessing_of(
        pretrained::find_torchvision_weights(*named, recipe.model.network.name));
  return fetched.config ? pretrained::preprocessing_in_config(*fetched.config) : std::nullopt;
}

/// What contradictions() says of the transforms that the run evaluates by.
std::string contradictions_of(const Registries& registries, const Recipe& recipe,
                              const std::optional<pretrained::Preprocessing>& of_weights) {
  const auto plan = registries.datasets.build(recipe.data.source);
  if (!of_weights || !plan->eval_transforms) return {};  // no images
  return contradictions(*of_weights, transforms_of(recipe.data, registries, data::Split::kVal));
}

}  // namespace

std::vector<std::string> find_first_weights(const Registries& registries,
                                            comm::Communicator& communicator,
                                            base::FileSystem& files,
                                            const base::Interruption& interruption,
                                            Recipe& recipe) {
  if (!recipe.model.pretrained) return {};
  std::vector<std::string> notes;
  if (pretrained::is_weight_source(*recipe.model.pretrained)) {
    const auto source = pretrained::parse_weight_source(*recipe.model.pretrained);
    const auto fetched = fetch(source, communicator, files, interruption, recipe);
    recipe.model.pretrained = fetched.path.string();
    notes.push_back("the weights are " + fetched.origin);
    const std::string doubts =
        contradictions_of(registries, recipe, preprocessing_of(source, recipe, fetched));
    if (!doubts.empty() && communicator.rank() == 0) base::log_warning(doubts);
  } else {
    recipe.model.pretrained = comm::first_rank_decides(
        communicator, [&] { return find_weights(*recipe.model.pretrained).string(); });
  }
  const auto changes = take_surgery_of_weights(registries, recipe);
  notes.insert(notes.end(), changes.begin(), changes.end());
  return notes;
}

bool check_weight_source(const Recipe& recipe) {
  if (!pretrained::is_weight_source(*recipe.model.pretrained)) return false;
  const auto source = pretrained::parse_weight_source(*recipe.model.pretrained);
  if (const auto* named = std::get_if<pretrained::TorchvisionSource>(&source))
    pretrained::find_torchvision_weights(*named, recipe.model.network.name);
  return true;
}

}  // namespace paceline::app
