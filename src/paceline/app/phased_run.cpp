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
#include <iterator>
#include <optional>
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

/// The number of the last phase that has a folder in this run, which may have begun with a later
/// one than the first; 0 if none has. Throws CheckpointError if there is one that is not the
/// recipe's.
std::size_t last_begun(const PhasedRecipe& recipe, const fs::path& run) {
  std::size_t last = 0;
  for (const fs::path& folder : phase_folders(run)) {
    const auto phase = std::ranges::find(recipe.phases, folder.filename().string(), folder_name);
    if (phase == recipe.phases.end()) {
      std::vector<std::string> expected;
      std::ranges::transform(recipe.phases, std::back_inserter(expected), folder_name);
      throw base::CheckpointError(fmt::format(
          "{} is of a phase that the recipe has not: expected {}. Phases that have begun keep "
          "their names and order; put them back, or name another --run-dir",
          folder.string(), base::join(expected, ", ")));
    }
    last = static_cast<std::size_t>(phase->number);
  }
  return last;
}

/// By the folder that is nearest to the checkpoint, as a run may lie below another one's phase.
std::optional<std::size_t> phase_of_place(const PhasedRecipe& recipe, const fs::path& checkpoint) {
  std::optional<std::size_t> found;
  for (const fs::path& component : checkpoint) {
    for (std::size_t i = 0; i < recipe.phases.size(); ++i) {
      if (component == folder_name(recipe.phases[i])) found = i;
    }
  }
  return found;
}

/// A phase does not change under a later one.
void require_no_later(const PhasedRecipe& recipe, std::size_t index, const std::string& named,
                      const fs::path& run) {
  const std::size_t last = last_begun(recipe, run);
  if (last <= index + 1) return;
  throw base::CheckpointError(fmt::format(
      "--resume {0}: in {1} the phase {2} has begun, which stands on what {3} became: write "
      "--resume auto to go on with {2}, or name another --run-dir to go on from here",
      named, run.string(), recipe.phases[last - 1].name, recipe.phases[index].name));
}

/// Which phase goes on from the checkpoint that a user's words stand for.
std::size_t phase_of_checkpoint(const PhasedRecipe& recipe, const std::string& named,
                                const fs::path& run) {
  const fs::path checkpoint = fs::absolute(find_checkpoint(named));
  const auto found = phase_of_place(recipe, checkpoint);
  if (!found) {
    throw base::ConfigError(fmt::format(
        "--resume {}: {} is of no phase of this recipe; expected one below {}", named,
        checkpoint.string(), phase_folder("RUN", folder_name(recipe.phases[0])).string()));
  }
  require_no_later(recipe, *found, named, run);
  return *found;
}

/// A phase that is done does not change under those that stand on it.
void check_done(const Phase& phase, const fs::path& folder, const SessionContext& context) {
  if (!has_saved(folder)) return;  // of a run that goes on elsewhere
  const checkpoint::CheckpointReader reader(find_checkpoint(folder));
  LoadedRecipe loaded = load(phase, context);
  fit_to_checkpoint(reader, context.registries, context.communicator.world_size(), loaded.resolved,
                    loaded.recipe);
}

/// A phase of a run, and what it begins or goes on with.
struct Beginning {
  std::size_t index = 0;
  std::optional<std::string> resume = {};  ///< as PhaseJob has it
  /// Of the phases before, where it has not saved yet; empty: those that this run has.
  std::string weights = {};
};

/// The index of the phase that a user begins with, by its number or name.
std::size_t started_phase(const PhasedRecipe& recipe, const TrainRequest& request) {
  const std::string& named = *request.start_phase;
  const auto phase = std::ranges::find_if(recipe.phases, [&](const Phase& candidate) {
    return candidate.name == named || std::to_string(candidate.number) == named;
  });
  if (phase == recipe.phases.end()) {
    std::vector<std::string> names;
    for (const Phase& known : recipe.phases) names.push_back(known.name);
    throw base::ConfigError(fmt::format("--start-phase {}: the recipe has the phases {}", named,
                                        base::join(names, ", ")));
  }
  if (phase == recipe.phases.begin()) {
    throw base::ConfigError(fmt::format(
        "--start-phase {}: every run begins with the first: leave the option out, and name weights "
        "to start from by model.pretrained",
        named));
  }
  if (!request.resume || *request.resume == "auto") {
    throw base::ConfigError(fmt::format(
        "--start-phase {}: name the weights of the phase before by --resume RUN@best, or write "
        "--resume auto alone to go on with a run, which knows which phases it has done",
        named));
  }
  return static_cast<std::size_t>(phase - recipe.phases.begin());
}

/// At a phase that the user names; a checkpoint of its own is gone on from.
Beginning at_started_phase(const PhasedRecipe& recipe, const TrainRequest& request,
                           const fs::path& run, const SessionContext& context) {
  const std::size_t index = started_phase(recipe, request);
  const std::string weights = comm::first_rank_decides(context.communicator, [&]() -> std::string {
    require_no_later(recipe, index, *request.resume, run);
    const fs::path checkpoint = fs::absolute(find_checkpoint(*request.resume));
    return phase_of_place(recipe, checkpoint) == index ? "" : checkpoint.string();
  });
  if (weights.empty()) return {index, request.resume};
  return {index, "auto", weights};
}

Beginning beginning_of(const PhasedRecipe& recipe, const TrainRequest& request, const fs::path& run,
                       const SessionContext& context) {
  if (request.start_phase) return at_started_phase(recipe, request, run, context);
  if (!request.resume) return {};
  const std::string index = comm::first_rank_decides(context.communicator, [&] {
    return std::to_string(*request.resume == "auto"
                              ? std::max<std::size_t>(last_begun(recipe, run), 1) - 1
                              : phase_of_checkpoint(recipe, *request.resume, run));
  });
  return {std::stoul(index), request.resume};
}

/// The same; the phases before it must be as the recipe has them.
Beginning checked_beginning(const PhasedRecipe& recipe, const TrainRequest& request,
                            const fs::path& run, const SessionContext& context) {
  Beginning beginning = beginning_of(recipe, request, run, context);
  comm::first_rank_decides(context.communicator, [&] {
    for (std::size_t i = 0; i < beginning.index; ++i)
      check_done(recipe.phases[i], phase_folder(run, folder_name(recipe.phases[i])), context);
    return "";
  });
  return beginning;
}

/// The weights that a phase starts from, `given` or those of the phase before; empty for one that
/// goes on from its own.
std::string weights_of_former(const Phase& former, const Phase& phase, const std::string& given,
                              const fs::path& run, const SessionContext& context) {
  return comm::first_rank_decides(context.communicator, [&]() -> std::string {
    if (has_saved(phase_folder(run, folder_name(phase)))) return "";
    if (!given.empty()) return given;
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

PhaseJob job_of(const PhasedRecipe& recipe, const Beginning& beginning, const RunDirectory& run,
                const SessionContext& context) {
  const std::size_t index = beginning.index;
  const Phase& phase = recipe.phases[index];
  const bool has_weights = beginning.resume && beginning.resume != "auto";
  PhaseJob job{.loaded = load(phase, context), .resume = beginning.resume, .run = run.path()};
  job.place =
      place_of(job.loaded.recipe, phase_folder(run.path(), folder_name(phase)), run.is_scratch());
  std::string note = title_of(recipe, phase);
  if (index > 0 && !has_weights) {
    const std::string weights =
        weights_of_former(recipe.phases[index - 1], phase, beginning.weights, run.path(), context);
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

int run_from(const Beginning& beginning, const PhasedRecipe& recipe, const RunDirectory& run,
             const TrainRequest& request, const SessionContext& context) {
  for (std::size_t i = beginning.index; i < recipe.phases.size(); ++i) {
    PhaseJob job = job_of(recipe, i == beginning.index ? beginning : Beginning{i}, run, context);
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
    PhaseJob job{.loaded = load(phase, context), .stands_on_phases = phase.number > 1};
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
    return run_from(checked_beginning(recipe, request, run.path(), context), recipe, run, request,
                    context);
  } catch (...) {
    run.abandon();  // what is not empty stays
    throw;
  }
}

}  // namespace paceline::app
