#include "paceline/app/resume.h"

#include "paceline/app/assembly/surgery.h"
#include "paceline/app/assembly/weight_preprocessing.h"
#include "paceline/app/recipe/batch_arithmetic.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/base/json.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/branch.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/comm/agreement.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/resume.h"
#include "paceline/config/write.h"
#include "paceline/train/run_state.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

/// Nothing if the file is damaged.
std::optional<std::int64_t> steps_in(const std::filesystem::path& summary_file) {
  try {
    return base::parse_json(base::read_file(summary_file)).at("steps").get<std::int64_t>();
  } catch (const base::JsonError&) {
  } catch (const nlohmann::json::exception&) {  // it lacks the number
  }
  return std::nullopt;
}

/// A run that trained to its end and saved nothing has left only its records: to train it once more
/// would replace them.
void refuse_to_repeat(const RunDirectory& directory) {
  if (!std::filesystem::exists(directory.summary_file())) return;
  const auto steps = steps_in(directory.summary_file());
  if (steps == 0) return;
  throw base::CheckpointError(fmt::format(
      "{} holds a run {} that has ended, and no checkpoint of it, so it cannot go on: name another "
      "--run-dir, or move its files away",
      directory.path().string(),
      steps ? fmt::format("of {} steps", *steps) : "whose summary.json is damaged"));
}

/// The newest checkpoint of the run in this directory; nothing for one that has not saved yet.
std::optional<std::filesystem::path> newest_of_run(const RunDirectory& directory,
                                                   const checkpoint::DamageOf& damage) {
  const std::filesystem::path& folder = directory.checkpoint_folder();
  if (auto newest = newest_checkpoint(folder, damage)) return newest;
  // It may have saved elsewhere: checkpoint.dir may change.
  if (const auto former = folder_of_run(directory.path()); former && *former != folder) {
    if (auto newest = newest_checkpoint(*former, damage)) return newest;
  }
  if (checkpoint::has_branches(folder)) {  // a start of the run died while it went back to one
    throw base::CheckpointError(fmt::format(
        "{} holds no checkpoint but those in its branches: go on from one of them by --resume PATH",
        folder.string()));
  }
  refuse_to_repeat(directory);
  base::log_info("{} holds no checkpoint yet: starting anew", folder.string());
  return std::nullopt;
}

/// A directory in which there is a run goes on with what is its own, or what it went on from
/// before; anything else would mix two runs.
void require_own(const std::filesystem::path& checkpoint, const RunDirectory& directory) {
  if (!std::filesystem::exists(directory.config_file())) return;
  const auto former = folder_of_run(directory.path());
  if (base::lies_in(checkpoint, directory.checkpoint_folder()) ||
      (former && base::lies_in(checkpoint, *former))) {
    return;
  }
  const auto text_of = [](const std::filesystem::path& of) {
    return base::read_file(of / checkpoint::kManifestFile);
  };
  const std::int64_t step = checkpoint::CheckpointReader(checkpoint).manifest().step;
  const auto own = directory.checkpoint_folder() / checkpoint::checkpoint_name(step);
  if (std::filesystem::exists(own / checkpoint::kManifestFile) &&
      text_of(own) == text_of(checkpoint)) {
    return;
  }
  throw base::CheckpointError(fmt::format(
      "{} holds another run than {} is of: go on with it by --resume auto, or name another "
      "--run-dir",
      directory.path().string(), checkpoint.string()));
}

/// What a user's words stand for.
std::string named_checkpoint(const std::string& resume, const RunDirectory& directory,
                             base::FileSystem& files) {
  checkpoint::restore_replaced(files, directory.checkpoint_folder());
  const std::filesystem::path checkpoint = find_checkpoint(resume);
  require_own(checkpoint, directory);
  return checkpoint.string();
}

/// Keeps the run's global batch or throws ConfigError; returns what was done, if anything was.
std::string keep_global_batch(const DataSection& former, std::int64_t before, int world_size,
                              DataSection& data) {
  const std::int64_t now = global_batch_size_of(data, world_size);
  if (now == before) return {};
  const std::optional<std::int64_t> per_rank = data.batch_size_per_rank;
  if (!per_rank || per_rank != former.batch_size_per_rank) {
    throw base::ConfigError(fmt::format(
        "the run cannot be resumed with another global batch: it was {} samples a step, the recipe "
        "now means {} on {} ranks. Put data.global_batch_size={} data.batch_size_per_rank=null, or "
        "start a new run",
        before, now, world_size, before));
  }
  data.global_batch_size = before;
  data.batch_size_per_rank.reset();
  return fmt::format(
      "the global batch stays {} samples: data.batch_size_per_rank {} on {} ranks would make it {} "
      "and change the run",
      before, *per_rank, world_size, now);
}

/// Weights are loaded as they were saved.
void keep_storage_dtype(train::Precision before, train::Precision now) {
  if (train::storage_dtype(before) == train::storage_dtype(now)) return;
  throw base::ConfigError(fmt::format(
      "train.precision: was {}, is {}, which keeps weights of another type: a run cannot go on "
      "with it. Put it back, or start a new run from its weights by model.pretrained=RUN@best",
      config::enum_name(before), config::enum_name(now)));
}

/// Takes the algorithms that only one of two recipes names out of it, if they may come or go.
/// Returns their options by name.
std::map<std::string, std::string> take_out_single_ones(const config::ComponentMap& algorithms,
                                                        const config::ComponentMap& others,
                                                        const Registries& registries,
                                                        config::Node& recipe) {
  std::map<std::string, std::string> taken;
  for (const auto& [name, component] : algorithms) {
    if (others.contains(name) || !registries.algorithms.build(component)->traits().may_come_or_go)
      continue;
    config::Node* const section = recipe.find("algorithms");
    taken[name] = config::to_flow_yaml(*section->find(name));
    section->erase(name);
  }
  return taken;
}

}  // namespace

std::unique_ptr<checkpoint::CheckpointReader> open_resumed(const std::string& resume,
                                                           const RunDirectory& directory,
                                                           base::FileSystem& files,
                                                           comm::Communicator& communicator) {
  if (resume == "auto") {
    const auto newest = [&](const checkpoint::DamageOf& known) {
      checkpoint::restore_replaced(files, directory.checkpoint_folder());
      return newest_of_run(directory, known).value_or("");
    };
    return checkpoint::open_whole(newest, communicator);
  }
  const std::string path = comm::first_rank_decides(
      communicator, [&] { return named_checkpoint(resume, directory, files); });
  return checkpoint::open_checkpoint(path, communicator);
}

void keep_preprocessing(const checkpoint::CheckpointReader& reader, const Registries& registries,
                        config::Node& resolved, Recipe& recipe) {
  fill_open(preprocessing_of(reader.manifest(), registries), recipe.data.preprocessing);
  record_preprocessing(recipe.data.preprocessing, resolved);
}

std::vector<std::string> fit_to_checkpoint(const checkpoint::CheckpointReader& reader,
                                           const Registries& registries, int world_size,
                                           const config::Node& resolved, Recipe& recipe) {
  const checkpoint::Manifest& manifest = reader.manifest();
  const std::string source = (reader.directory() / checkpoint::kManifestFile).string();
  const int saved_world_size = manifest.environment.world_size;
  const Recipe former = config::bind<Recipe>(config::parse_yaml(manifest.config, source),
                                             registries.context(saved_world_size));
  config::Node saved = config::to_node(config::describe<Recipe>(), &former);
  config::Node now = resolved;
  const auto gone = take_out_single_ones(former.algorithms, recipe.algorithms, registries, saved);
  const auto come = take_out_single_ones(recipe.algorithms, former.algorithms, registries, now);
  std::vector<std::string> notes =
      config::check_resume(saved, now, config::describe<Recipe>(), registries.catalogs());
  for (const auto& [name, options] : gone)
    notes.push_back(fmt::format("algorithms.{}: was {}, is absent", name, options));
  for (const auto& [name, options] : come)
    notes.push_back(fmt::format("algorithms.{}: was absent, is {}", name, options));
  rebuild_by_record(manifest, reader.directory(), registries, former, recipe);
  keep_storage_dtype(former.train.precision, recipe.train.precision);
  // An earlier resume may have kept the batch of yet another number of ranks.
  const std::int64_t before = train::samples_per_step(manifest.state)
                                  .value_or(global_batch_size_of(former.data, saved_world_size));
  if (std::string note = keep_global_batch(former.data, before, world_size, recipe.data);
      !note.empty()) {
    notes.push_back(std::move(note));
  }
  return notes;
}

void check_inputs(const checkpoint::CheckpointReader& reader,
                  const std::map<std::string, std::string>& inputs) {
  std::string changes;
  for (const auto& [name, before] : reader.manifest().inputs) {
    const auto now = inputs.find(name);
    if (now == inputs.end() || now->second == before) continue;
    changes += fmt::format("\n  {}: was {}, is {}", name, before, now->second);
  }
  if (changes.empty()) return;
  throw base::CheckpointError(fmt::format(
      "{}: the run cannot be resumed with other data:{}\nPut the data back (data.path may be "
      "another one), or start a new run with model.pretrained",
      reader.directory().string(), changes));
}

}  // namespace paceline::app
