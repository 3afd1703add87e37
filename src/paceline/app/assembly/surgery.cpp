#include "paceline/app/assembly/surgery.h"

#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"
#include "paceline/pretrained/weight_source.h"

#include <algorithm>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;

/// The algorithm that did it, with the options that it had.
config::Component component_of(const checkpoint::Surgery& surgery, const fs::path& source,
                               const Registries& registries) {
  const config::ComponentEntry* const entry = registries.algorithms.find(surgery.algorithm);
  if (entry == nullptr) {
    throw base::ConfigError(
        fmt::format("{}: the network of these weights was changed by the algorithm '{}', which "
                    "this program has not got: use the one that trained them",
                    source.string(), surgery.algorithm));
  }
  const std::string place =
      fmt::format("{}: what algorithms.{} did to the network", source.string(), entry->name);
  return config::bind_component(*entry, config::parse_yaml(surgery.options, place),
                                registries.context(/*world_size=*/0));
}

/// Adds what the recipe does not name; returns a line for each algorithm that it names with other
/// options.
std::vector<std::string> add_recorded(const checkpoint::SurgeryRecord& record,
                                      const fs::path& source, const Registries& registries,
                                      Recipe& recipe) {
  std::vector<std::string> problems;
  for (const checkpoint::Surgery& surgery : record) {
    const config::Component recorded = component_of(surgery, source, registries);
    const auto [own, is_new] = recipe.algorithms.emplace(recorded.name, recorded);
    if (is_new) continue;
    const config::Node before = config::options_of(recorded);
    const config::Node now = config::options_of(own->second);
    if (!config::same_value(before, now))
      problems.push_back(fmt::format("algorithms.{}: it was {}, the recipe says {}", recorded.name,
                                     config::to_flow_yaml(before), config::to_flow_yaml(now)));
  }
  return problems;
}

bool is_in(const checkpoint::SurgeryRecord& record, const std::string& algorithm) {
  return std::ranges::find(record, algorithm, &checkpoint::Surgery::algorithm) != record.end();
}

void throw_if_any(const std::vector<std::string>& problems, const fs::path& source) {
  if (problems.empty()) return;
  throw base::ConfigError(fmt::format(
      "the weights in {} are those of a network that was changed otherwise:\n  {}\nTake these "
      "settings out: the network is rebuilt as it was",
      source.string(), base::join(problems, "\n  ")));
}

std::string text_of(const checkpoint::SurgeryRecord& record) {
  std::vector<std::string> lines;
  for (const checkpoint::Surgery& surgery : record) lines.push_back(describe(surgery));
  return lines.empty() ? "nothing" : base::join(lines, "; ");
}

}  // namespace

checkpoint::SurgeryRecord surgery_done(const train::Engine& engine, const Recipe& recipe) {
  checkpoint::SurgeryRecord record;
  for (const train::Algorithm* algorithm : engine.that_change_network()) {
    const std::string name(algorithm->name());
    const auto component = recipe.algorithms.find(name);
    PACELINE_CHECK(component != recipe.algorithms.end(), "no recipe names the algorithm '{}'",
                   name);
    record.push_back({name, config::to_flow_yaml(config::options_of(component->second)),
                      algorithm->changed_layers()});
  }
  return record;
}

void check_surgery(const checkpoint::SurgeryRecord& done, const checkpoint::SurgeryRecord& record,
                   const fs::path& source) {
  const auto is_same = [](const checkpoint::Surgery& a, const checkpoint::Surgery& b) {
    return a.algorithm == b.algorithm && a.layers == b.layers;
  };
  if (std::ranges::equal(done, record, is_same)) return;
  throw base::CheckpointError(fmt::format(
      "{}: its network was changed by {}; this program with this recipe changes it by {}: use the "
      "model and the program that trained it",
      source.string(), text_of(record), text_of(done)));
}

void rebuild_by_record(const checkpoint::Manifest& manifest, const fs::path& source,
                       const Registries& registries, const Recipe& saved, Recipe& recipe) {
  if (!manifest.surgery) return;
  std::vector<std::string> problems;
  for (const checkpoint::Surgery& surgery : *manifest.surgery) {
    const std::string& name = surgery.algorithm;
    if (saved.algorithms.contains(name) && !recipe.algorithms.contains(name))
      problems.push_back(fmt::format("algorithms.{}: it was there, and is taken out", name));
  }
  for (const auto& [name, component] : recipe.algorithms) {
    if (!is_in(*manifest.surgery, name) &&
        registries.algorithms.build(component)->traits().changes_network)
      problems.push_back(fmt::format("algorithms.{}: it was not there", name));
  }
  const auto others = add_recorded(*manifest.surgery, source, registries, recipe);
  problems.insert(problems.end(), others.begin(), others.end());
  throw_if_any(problems, source);
}

std::vector<std::string> take_surgery_of_weights(const Registries& registries, Recipe& recipe) {
  if (!recipe.model.pretrained) return {};
  if (pretrained::is_weight_source(*recipe.model.pretrained)) return {};  // not here yet
  const std::string& named = *recipe.model.pretrained;
  const fs::path source = locate_weights(named);
  std::vector<std::string> notes;
  const auto record =
      checkpoint::surgery_of_weights(source, recipe.model.pretrained_key.value_or(""))
          .value_or(checkpoint::SurgeryRecord());
  for (const checkpoint::Surgery& surgery : record) {
    if (!recipe.algorithms.contains(surgery.algorithm))
      notes.push_back(
          fmt::format("the network is changed as that of the weights was: {}", describe(surgery)));
  }
  throw_if_any(add_recorded(record, source, registries, recipe), source);
  return notes;
}

}  // namespace paceline::app
