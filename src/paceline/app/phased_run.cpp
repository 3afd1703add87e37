#include "paceline/app/phased_run.h"

#include "paceline/app/assembly/recipe_check.h"
#include "paceline/app/phase_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/resume.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/run_directory/phase_folders.h"
#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/base/json.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/comm/agreement.h"
#include "paceline/config/write.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;

std::string folder_name(const Phase& phase) { return phase_folder_name(phase.number, phase.name); }

/// A later phase may be days away: what can be said of its recipe is said now.
void check_phases(const PhasedRecipe& recipe, const SessionContext& context) {
  const auto problems = problems_without_data(recipe.phases, context.registries);
  if (!problems.empty()) throw base::ConfigError(base::join(problems, "\n"));
  const auto bind_context = context.registries.context(context.communicator.world_size());
  std::map<std::string, std::string> facts;
  for (const Phase& phase : recipe.phases) {
    for (const auto& [section, text] :
         section_texts(resolved_without_paths(phase.recipe.written, bind_context)))
      facts[fmt::format("{} of phase {}", section, folder_name(phase))] = text;
  }
  comm::agree(context.communicator, facts);
}

LoadedRecipe load(const Phase& phase, const SessionContext& context) {
  return load_recipe(phase.recipe, context.registries, context.communicator.world_size(),
                     context.device.place().type(), &context.interruption);
}

/// What a phase is called in the log.
std::string title_of(const PhasedRecipe& recipe, const Phase& phase) {
  return fmt::format("phase {} of {}: {}", phase.number, recipe.phases.size(), phase.name);
}

/// How many phases have a folder in this run. Throws CheckpointError if they are others than the
/// recipe's.
std::size_t num_begun(const PhasedRecipe& recipe, const fs::path& run) {
  const std::vector<fs::path> folders = phase_folders(run);
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const std::string expected =
        i < recipe.phases.size() ? folder_name(recipe.phases[i]) : "nothing";
    if (folders[i].filename() == expected) continue;
    throw base::CheckpointError(fmt::format(
        "{} is of a phase that the recipe has not: expected {}. Phases that have begun keep their "
        "names and order; put them back, or name another --run-dir",
        folders[i].string(), expected));
  }
  return folders.size();
}

/// Which phase goes on from the checkpoint that a user's words stand for.
std::size_t phase_of_checkpoint(const PhasedRecipe& recipe, const std::string& named,
                                const fs::path& run) {
  const fs::path checkpoint = fs::absolute(find_checkpoint(named));
  std::size_t found = recipe.phases.size();
  for (std::size_t i = 0; i < recipe.phases.size(); ++i) {
    if (std::ranges::find(checkpoint, fs::path(folder_name(recipe.phases[i]))) != checkpoint.end())
      found = i;
  }
  if (found == recipe.phases.size()) {
    throw base::ConfigError(fmt::format(
        "--resume {}: {} is of no phase of this recipe; expected one below {}", named,
        checkpoint.string(), phase_folder("RUN", folder_name(recipe.phases[0])).string()));
  }
  if (num_begun(recipe, run) > found + 1) {
    throw base::CheckpointError(fmt::format(
        "--resume {0}: in {1} the phase {2} has begun, which stands on what {3} became: write "
        "--resume auto to go on with {2}, or name another --run-dir to go on from here",
        named, run.string(), recipe.phases[found + 1].name, recipe.phases[found].name));
  }
  return found;
}

/// A phase that is done does not change under those that stand on it.
void check_done(const Phase& phase, const fs::path& folder, const SessionContext& context) {
  if (!has_saved(folder)) return;  // of a run that goes on elsewhere
  const checkpoint::CheckpointReader reader(find_checkpoint(folder));
  LoadedRecipe loaded = load(phase, context);
  fit_to_checkpoint(reader, context.registries, context.communicator.world_size(), loaded.resolved,
                    loaded.recipe);
}

/// The index of the phase to begin or go on with.
std::size_t first_phase(const PhasedRecipe& recipe, const std::optional<std::string>& resume,
                        const fs::path& run, const SessionContext& context) {
  if (!resume) return 0;
  return std::stoul(comm::first_rank_decides(context.communicator, [&] {
    const std::size_t first = *resume == "auto"
                                  ? std::max<std::size_t>(num_begun(recipe, run), 1) - 1
                                  : phase_of_checkpoint(recipe, *resume, run);
    for (std::size_t i = 0; i < first; ++i)
      check_done(recipe.phases[i], phase_folder(run, folder_name(recipe.phases[i])), context);
    return std::to_string(first);
  }));
}

/// The weights that a phase starts from; empty for one that goes on from its own.
std::string weights_of_former(const Phase& former, const Phase& phase, const fs::path& run,
                              const SessionContext& context) {
  return comm::first_rank_decides(context.communicator, [&]() -> std::string {
    if (has_saved(phase_folder(run, folder_name(phase)))) return "";
    const std::string folder = phase_folder(run, folder_name(former)).string();
    return find_checkpoint(folder + (phase.start_from == StartFrom::kBest ? "@best" : "@last"))
        .string();
  });
}

/// summary.json of the run: those of its phases so far, in order.
void write_summary(const PhasedRecipe& recipe, const RunDirectory& run, base::FileSystem& files) {
  nlohmann::json phases = nlohmann::json::array();
  for (const Phase& phase : recipe.phases) {
    const fs::path file = phase_folder(run.path(), folder_name(phase)) / "summary.json";
    if (!fs::exists(file)) continue;
    phases.push_back({{"name", phase.name}, {"summary", base::parse_json(base::read_file(file))}});
  }
  write_file_atomically(files, run.summary_file(),
                        nlohmann::json{{"phases", phases}}.dump(2) + "\n");
}

/// What a phase is, and how its recipe was read.
void put_first(std::string title, const Phase& phase, std::vector<std::string>& notes) {
  notes.insert(notes.begin(), phase.notes.begin(), phase.notes.end());
  notes.insert(notes.begin(), std::move(title));
}

PhaseJob job_of(const PhasedRecipe& recipe, std::size_t index, const RunDirectory& run,
                std::optional<std::string> resume, const SessionContext& context) {
  const Phase& phase = recipe.phases[index];
  const bool has_weights = resume && resume != "auto";
  PhaseJob job{.loaded = load(phase, context), .resume = std::move(resume), .run = run.path()};
  job.place =
      place_of(job.loaded.recipe, phase_folder(run.path(), folder_name(phase)), run.is_scratch());
  std::string note = title_of(recipe, phase);
  if (index > 0 && !has_weights) {
    const std::string weights =
        weights_of_former(recipe.phases[index - 1], phase, run.path(), context);
    if (!weights.empty()) {
      job.loaded.recipe.model.pretrained = weights;
      job.loaded.recipe.model.pretrained_key.reset();  // of the weights before the first phase
      job.loaded.resolved.find("model")->set("pretrained", config::Node::scalar(weights, true));
      note += ", from " + weights;
    }
  }
  put_first(std::move(note), phase, job.loaded.notes);
  job.begins = [&] {
    write_file_atomically(context.files, run.config_file(), config::to_yaml(recipe.written));
  };
  return job;
}

int run_from(std::size_t first, const PhasedRecipe& recipe, const RunDirectory& run,
             const TrainRequest& request, const SessionContext& context) {
  for (std::size_t i = first; i < recipe.phases.size(); ++i) {
    PhaseJob job = job_of(recipe, i, run, i == first ? request.resume : std::nullopt, context);
    if (const int code = run_phase(std::move(job), request, context); code != 0) return code;
    comm::first_rank_decides(context.communicator, [&] {
      write_summary(recipe, run, context.files);
      return "";
    });
    const auto signal = comm::max_over_ranks(context.communicator, context.interruption.signal());
    if (signal != 0 && i + 1 < recipe.phases.size()) {
      if (context.communicator.rank() == 0)
        base::log_info("signal {} came: the phase {} is left to --resume auto", signal,
                       recipe.phases[i + 1].name);
      return 128 + static_cast<int>(signal);
    }
  }
  return 0;
}

int plan_phases(const PhasedRecipe& recipe, const TrainRequest& request,
                const SessionContext& context) {
  for (const Phase& phase : recipe.phases) {
    PhaseJob job{.loaded = load(phase, context)};
    put_first(title_of(recipe, phase), phase, job.loaded.notes);
    run_phase(std::move(job), request, context);
  }
  return 0;
}

}  // namespace

int run_phases(const PhasedRecipe& recipe, const std::optional<fs::path>& directory,
               const TrainRequest& request, const SessionContext& context) {
  check_phases(recipe, context);
  if (request.is_dry_run) return plan_phases(recipe, request, context);
  RunPlace place = place_of(recipe.phases.front().recipe.value, directory, request.is_fast_dev_run);
  place.holds_phases = true;
  RunDirectory run(place, request.resume.has_value(), context.communicator, context.files);
  try {
    const std::size_t first = first_phase(recipe, request.resume, run.path(), context);
    return run_from(first, recipe, run, request, context);
  } catch (...) {
    run.abandon();  // what is not empty stays
    throw;
  }
}

}  // namespace paceline::app
