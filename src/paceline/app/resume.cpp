#include "paceline/app/resume.h"

#include "paceline/app/batch_arithmetic.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/comm/agreement.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/resume.h"
#include "paceline/config/write.h"

namespace paceline::app {
namespace {

/// "" for a run that has not saved yet.
std::string path_to_resume(const std::string& resume, const RunDirectory& directory,
                           base::FileSystem& files) {
  const std::filesystem::path& folder = directory.checkpoint_folder();
  checkpoint::restore_replaced(files, folder);
  const bool is_auto = resume == "auto";
  if (is_auto && checkpoint::list_checkpoints(folder).is_empty()) {
    base::log_info("{} holds no checkpoint yet: starting anew", folder.string());
    return "";
  }
  const CheckpointChoice choice = find_checkpoint(is_auto ? folder : std::filesystem::path(resume));
  for (const std::string& note : choice.notes) base::log_warning(note);
  return choice.path.string();
}

/// Keeps the run's global batch or throws ConfigError; returns what was done, if anything was.
std::string keep_global_batch(const Recipe& saved, int saved_world_size, int world_size,
                              Recipe& recipe) {
  const std::int64_t before = global_batch_size_of(saved.data, saved_world_size);
  const std::int64_t now = global_batch_size_of(recipe.data, world_size);
  if (now == before) return {};
  const auto& per_rank = recipe.data.batch_size_per_rank;
  if (!per_rank || per_rank != saved.data.batch_size_per_rank) {
    throw base::ConfigError(fmt::format(
        "the run cannot be resumed with another global batch: it was {} images a step on {} ranks, "
        "the recipe now means {} on {}. Put data.global_batch_size={} "
        "data.batch_size_per_rank=null, or start a new run",
        before, saved_world_size, now, world_size, before));
  }
  recipe.data.global_batch_size = before;
  recipe.data.batch_size_per_rank.reset();
  return fmt::format(
      "the global batch stays {0} images, as on {1} ranks: data.batch_size_per_rank {2} on {3} "
      "ranks would make it {4} and change the run; data.global_batch_size is {0} from here on",
      before, saved_world_size, *per_rank, world_size, now);
}

}  // namespace

std::unique_ptr<checkpoint::CheckpointReader> open_resumed(const std::string& resume,
                                                           const RunDirectory& directory,
                                                           base::FileSystem& files,
                                                           comm::Communicator& communicator) {
  const std::string path = comm::first_rank_decides(
      communicator, [&] { return path_to_resume(resume, directory, files); });
  return path.empty() ? nullptr : checkpoint::open_checkpoint(path, communicator);
}

std::vector<std::string> fit_to_checkpoint(const checkpoint::CheckpointReader& reader,
                                           const Registries& registries, int world_size,
                                           Recipe& recipe, config::Node& resolved) {
  const config::StructInfo& info = config::describe<Recipe>();
  const checkpoint::Manifest& manifest = reader.manifest();
  const std::string source = (reader.directory() / checkpoint::kManifestFile).string();
  const config::Node saved = config::parse_yaml(manifest.config, source);
  std::vector<std::string> notes =
      config::check_resume(saved, resolved, info, registries.catalogs());
  const int saved_world_size = manifest.environment.world_size;
  const std::string note =
      keep_global_batch(config::bind<Recipe>(saved, {registries.catalogs(), saved_world_size}),
                        saved_world_size, world_size, recipe);
  if (!note.empty()) {
    notes.push_back(note);
    resolved = config::to_node(info, &recipe);
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
