#include "paceline/app/assembly/first_weights.h"

#include "paceline/app/assembly/local_ranks.h"
#include "paceline/app/assembly/surgery.h"
#include "paceline/app/assembly/weight_preprocessing.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/file_status.h"
#include "paceline/base/json.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/reader.h"
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

/// Weights on this rank's machine.
struct LocalWeights {
  std::string path;
  std::string origin;        ///< of weights of elsewhere, else empty
  Preprocessing known = {};  ///< how images are prepared for them, as far as that is told
};

std::string to_json(const LocalWeights& weights) {
  return nlohmann::json{
      {"path", weights.path}, {"origin", weights.origin}, {"preprocessing", to_text(weights.known)}}
      .dump();
}

LocalWeights from_json(const std::string& told, const Registries& registries) {
  const nlohmann::json json = base::parse_json(told);
  LocalWeights weights{json.at("path").get<std::string>(), json.at("origin").get<std::string>()};
  weights.known = parse_preprocessing(json.at("preprocessing").get<std::string>(),
                                      "the preprocessing of the weights", registries);
  return weights;
}

/// As whoever published the weights prepares images for them.
Preprocessing published_with(const pretrained::WeightSource& source, const std::string& model,
                             const std::optional<std::filesystem::path>& timm_config) {
  std::optional<pretrained::Preprocessing> published;
  if (const auto* named = std::get_if<pretrained::TorchvisionSource>(&source))
    published = pretrained::preprocessing_of(pretrained::find_torchvision_weights(*named, model));
  else if (timm_config)
    published = pretrained::preprocessing_in_config(*timm_config);
  return published ? in_words_of_recipe(*published) : Preprocessing();
}

/// Of elsewhere. Every rank must call it.
LocalWeights fetch(const Registries& registries, comm::Communicator& communicator,
                   base::FileSystem& files, const base::Interruption& interruption,
                   const Recipe& recipe) {
  const auto source = pretrained::parse_weight_source(*recipe.model.pretrained);
  const std::string& model = recipe.model.network.name;
  const std::string told = comm::first_of_place_decides(communicator, process_space(), [&] {
    const auto fetched = pretrained::fetch_weights(
        source, model, pretrained::make_fetch_context(recipe.data.remote, files, interruption));
    return to_json(
        {fetched.path.string(), fetched.origin, published_with(source, model, fetched.config)});
  });
  const LocalWeights weights = from_json(told, registries);
  // A branch may have moved between the machines' downloads, or one of them have no network.
  comm::agree(communicator, {{"the weights of model.pretrained", weights.origin},
                             {"their preprocessing", to_text(weights.known)}});
  return weights;
}

/// Of a run: what it took itself. Of another program's file: what the config.json beside it says,
/// as timm's repositories have it.
Preprocessing saved_with(const std::filesystem::path& weights, const Registries& registries) {
  if (!std::filesystem::is_regular_file(weights))
    return preprocessing_of(checkpoint::CheckpointReader(weights).manifest(), registries);
  const std::filesystem::path config = weights.parent_path() / "config.json";
  if (!base::file_exists(config)) return {};
  const auto published = pretrained::preprocessing_in_config(config);
  return published ? in_words_of_recipe(*published) : Preprocessing();
}

/// Of a path that this machine has. Every rank must call it.
LocalWeights find(const Registries& registries, comm::Communicator& communicator,
                  const std::string& named) {
  return from_json(
      comm::first_rank_decides(communicator,
                               [&] {
                                 const auto path = find_weights(named);
                                 return to_json({path.string(), "", saved_with(path, registries)});
                               }),
      registries);
}

}  // namespace

std::vector<std::string> find_first_weights(const Registries& registries,
                                            comm::Communicator& communicator,
                                            base::FileSystem& files,
                                            const base::Interruption& interruption,
                                            Recipe& recipe) {
  if (!recipe.model.pretrained) return {};
  const LocalWeights weights = pretrained::is_weight_source(*recipe.model.pretrained)
                                   ? fetch(registries, communicator, files, interruption, recipe)
                                   : find(registries, communicator, *recipe.model.pretrained);
  recipe.model.pretrained = weights.path;
  std::vector<std::string> notes;
  if (!weights.origin.empty()) notes.push_back("the weights are " + weights.origin);
  const TakenPreprocessing images = take_preprocessing(weights.known, registries, recipe);
  if (!images.taken.empty())
    notes.push_back("images are prepared as for the weights of model.pretrained: " + images.taken);
  if (!images.contradictions.empty() && communicator.rank() == 0)
    base::log_warning(images.contradictions);
  const auto changes = take_surgery_of_weights(registries, recipe);
  notes.insert(notes.end(), changes.begin(), changes.end());
  return notes;
}

bool take_known_preprocessing(const Registries& registries, Recipe& recipe) {
  if (!recipe.model.pretrained) return true;
  const std::string& named = *recipe.model.pretrained;
  Preprocessing known;
  if (!pretrained::is_weight_source(named)) {
    known = saved_with(locate_weights(named), registries);
  } else {
    const auto source = pretrained::parse_weight_source(named);
    known = published_with(source, recipe.model.network.name, std::nullopt);
    if (std::holds_alternative<pretrained::HubSource>(source)) return false;
  }
  take_preprocessing(known, registries, recipe);
  return true;
}

bool check_weight_source(const Recipe& recipe) {
  if (!pretrained::is_weight_source(*recipe.model.pretrained)) return false;
  const auto source = pretrained::parse_weight_source(*recipe.model.pretrained);
  if (const auto* named = std::get_if<pretrained::TorchvisionSource>(&source))
    pretrained::find_torchvision_weights(*named, recipe.model.network.name);
  return true;
}

}  // namespace paceline::app
