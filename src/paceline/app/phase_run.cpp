#include "paceline/app/phase_run.h"

#include "paceline/app/assembly/class_balance.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/banner.h"
#include "paceline/app/memory_estimate.h"
#include "paceline/app/out_of_memory.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe_parts.h"
#include "paceline/app/resume.h"
#include "paceline/app/speed_advice.h"
#include "paceline/app/summary.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/base/version.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/comm/agreement.h"
#include "paceline/config/merge.h"
#include "paceline/config/write.h"
#include "paceline/tensor/memory_count.h"
#include "paceline/train/monitor.h"
#include "paceline/train/stop_rule.h"
#include "paceline/train/trainer.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

/// The most that a rank's tensors held, on the device where they train; the largest of all ranks.
/// Every rank must call it.
std::uint64_t most_tensor_bytes(const SessionContext& context) {
  const std::int64_t own =
      context.device.is_asynchronous()
          ? static_cast<std::int64_t>(context.device.memory().peak_allocated_bytes)
          : tensor::tensor_memory().peak;
  return static_cast<std::uint64_t>(comm::max_over_ranks(context.communicator, own));
}

void report_end(const train::FitResult& result, const Session& session) {
  const train::TrainState& state = session.state();
  base::log_info("done after step {}: {}", state.clock.step, result.text);
  const double epochs = static_cast<double>(state.last_eval_step) /
                        static_cast<double>(state.clock.lengths.steps_per_epoch);
  const std::string when =
      state.last_eval_step == state.clock.step
          ? ""
          : fmt::format(" (after step {}, epoch {:.4g})", state.last_eval_step, epochs);
  for (const auto& [name, value] : state.last_eval)
    base::log_info("  {} {:.4f}{}", name, value, when);
  if (const std::int64_t skipped = session.state().skipped.of_run; skipped > 0)
    base::log_warning("{} samples could not be read and were replaced by others", skipped);
}

/// What a rank needs of memory by prediction, when training is over and its memory free again.
/// Nothing after a signal, which wants the process gone, on a GPU, for which activations measured
/// here say little, or where there is no memory to find out.
std::optional<std::uint64_t> predicted_bytes(const Recipe& recipe, MemoryEstimate memory,
                                             const train::FitResult& result,
                                             const SessionContext& context,
                                             const MemoryQuestion& question) {
  if (result.reason == train::FitResult::Reason::kSignal || context.device.is_asynchronous())
    return std::nullopt;
  try {
    memory.activations =
        activations_by_samples(recipe, context.registries, question)(memory.batches.microbatch());
    return memory.total();
  } catch (const std::exception& error) {
    base::log_warning("what memory the run needs could not be predicted: {}", error.what());
    return std::nullopt;
  }
}

/// What the run is and how it was made to fit, in the log of rank 0.
void report_start(const LoadedRecipe& loaded, const Session& session,
                  const SessionContext& context) {
  if (context.communicator.rank() != 0) return;
  for (const std::string& line : banner(loaded.recipe, session, context)) base::log_info(line);
  for (const std::string& note : loaded.notes) base::log_info("note: {}", note);
}

/// What run_phase() works on.
struct Job {
  PhaseJob& phase;
  LoadedRecipe& loaded;  ///< of the phase; a session takes its training set
  const TrainRequest& request;
  const SessionContext& context;
  std::optional<base::LogFile>& log_file;  ///< begins when the run has its directory

  bool is_main_rank() const { return context.communicator.rank() == 0; }
  int world_size() const { return context.communicator.world_size(); }
};

/// What the user calls the run.
const std::filesystem::path& run_of(const Job& job, const RunDirectory& directory) {
  return job.phase.run.empty() ? directory.path() : job.phase.run;
}

/// After a signal.
std::string how_to_go_on(const RunDirectory& directory, const Job& job) {
  const auto saved = checkpoint::list_checkpoints(directory.checkpoint_folder()).complete;
  if (saved.empty()) return "it has saved no checkpoint (checkpoint.every), so it cannot go on";
  std::vector<std::string> words{job.request.recipe.string()};
  std::ranges::copy(job.request.overrides, std::back_inserter(words));
  std::ranges::copy(
      std::array<std::string, 4>{"--run-dir", run_of(job, directory).string(), "--resume", "auto"},
      std::back_inserter(words));
  if (job.world_size() > 1) words.push_back(fmt::format("--nproc={}", job.context.ranks_per_node));
  std::ranges::transform(words, words.begin(), base::shell_word);
  return fmt::format(
      "it goes on from step {} by: paceline train {}{}", saved.back().step, base::join(words, " "),
      job.world_size() > job.context.ranks_per_node ? " and the launch options of several machines"
                                                    : "");
}

/// Tells how the run ended and writes summary.json; ends the session.
void report_run(std::unique_ptr<Session> session, const train::FitResult& result,
                std::uint64_t peak_bytes, const RunDirectory& directory, const Job& job) {
  directory.require();
  report_end(result, *session);
  const MemoryQuestion question = session->memory_question();
  const auto speed = describe_speed(
      result.speed, job.loaded.recipe, word_for_samples(question.fields),
      session->state().strategy->communication_report().late_parameters, job.context.device);
  const auto best = session->best_checkpoint();
  nlohmann::json summary = summary_of(*session, result, best);
  const MemoryEstimate memory = session->memory();
  session.reset();
  const auto predicted = predicted_bytes(job.loaded.recipe, memory, result, job.context, question);
  summary["peak_memory"] = {{"measured_bytes", peak_bytes}, {"predicted_bytes", nullptr}};
  if (predicted) summary["peak_memory"]["predicted_bytes"] = *predicted;
  write_file_atomically(job.context.files, directory.summary_file(), summary.dump(2) + "\n");
  base::log_info("peak memory of a rank's tensors: {} measured{}", base::format_bytes(peak_bytes),
                 predicted ? ", " + base::format_bytes(*predicted) + " predicted" : "");
  for (const std::string& line : speed) base::log_info(line);
  if (job.request.is_fast_dev_run) return;  // its directory goes away
  base::log_info("the run is in {}", directory.path().string());
  if (result.reason == train::FitResult::Reason::kSignal)
    base::log_info("{}", how_to_go_on(directory, job));
  if (best) {
    base::log_info("the best checkpoint is of step {}, {} {:.4f}: {}@best", best->step,
                   best->monitored->name, best->monitored->value, directory.path().string());
  }
}

/// Drawn values of parts that nothing trains any more would be used to the end.
void refuse_untrained_parts(const Session& session) {
  const auto parts = session.state().task->network().parts_trained_before();
  if (parts.empty() || session.recipe().model.pretrained) return;
  throw base::ConfigError(fmt::format(
      "model: {} of {} are used and not trained, so their values have to come from weights: train "
      "the parts in turn as phases of one run, or name weights that hold them by model.pretrained",
      base::join(parts, ", "), session.recipe().model.network.name));
}

/// `goes_on`: a checkpoint will give it all values.
std::unique_ptr<Session> make_session(const Job& job, bool goes_on) {
  agree_on_recipe(job.loaded, job.context.communicator);
  const Recipe& recipe = job.loaded.recipe;
  auto session = std::make_unique<Session>(
      recipe, job.context,
      job.request.is_fast_dev_run ? SessionChanges::at_most(job.request.fast_dev_steps, recipe)
                                  : SessionChanges(),
      std::move(job.loaded.train_set));
  if (!goes_on && !job.phase.stands_on_phases) refuse_untrained_parts(*session);
  job.loaded.recipe.data.preprocessing = session->recipe().data.preprocessing;
  record_preprocessing(job.loaded.recipe.data.preprocessing, job.loaded.resolved);
  comm::agree(job.context.communicator, session->inputs());
  report_start(job.loaded, *session, job.context);
  return session;
}

int dry_run(const Job& job) {
  auto session = make_session(job, /*goes_on=*/false);
  const MemoryQuestion question = session->memory_question();
  if (job.is_main_rank()) {
    for (const std::string& line : plan(*session)) base::log_info(line);
  }
  session.reset();  // whose loader's threads take and give back memory while others' is measured
  if (job.is_main_rank()) {
    for (const std::string& line : memory_plan(job.loaded.recipe, job.context.registries, question))
      base::log_info(line);
    base::log_info("dry run: nothing was trained and nothing written");
  }
  return 0;
}

/// A run that is ready to train, in a directory that is its own.
struct ReadyRun {
  std::unique_ptr<RunDirectory> directory;
  std::unique_ptr<Session> session;
  /// The checkpoint that the session goes on from.
  std::optional<std::filesystem::path> resumed;
};

/// Goes on with a run, or begins it if it has not saved yet. What the run has on disk changes only
/// when all ranks have accepted recipe, data and checkpoint.
void resume_run(ReadyRun& run, const Job& job) {
  comm::Communicator& communicator = job.context.communicator;
  run.directory = std::make_unique<RunDirectory>(job.phase.place, /*is_resuming=*/true,
                                                 communicator, job.context.files);
  try {
    const auto reader =
        open_resumed(*job.phase.resume, *run.directory, job.context.files, communicator);
    if (reader) {
      keep_preprocessing(*reader, job.context.registries, job.loaded.resolved, job.loaded.recipe);
      auto notes = fit_to_checkpoint(*reader, job.context.registries, job.world_size(),
                                     job.loaded.resolved, job.loaded.recipe);
      std::ranges::move(notes, std::back_inserter(job.loaded.notes));
      job.loaded.recipe.model.pretrained.reset();  // the checkpoint's weights take its place
      run.resumed = reader->directory();
    }
    run.session = make_session(job, /*goes_on=*/reader != nullptr);
    if (reader) run.session->resume(*reader);
  } catch (...) {
    run.directory->abandon();
    throw;
  }
}

ReadyRun prepare_run(const Job& job) {
  ReadyRun run;
  const RunPlace& place = job.phase.place;
  // A scratch directory holds nothing to go on with.
  if (job.phase.resume && !(place.is_scratch && *job.phase.resume == "auto")) {
    resume_run(run, job);
  } else {
    run.session = make_session(job, /*goes_on=*/false);
    run.directory = std::make_unique<RunDirectory>(place, /*is_resuming=*/false,
                                                   job.context.communicator, job.context.files);
  }
  if (job.phase.begins) {
    comm::first_rank_decides(job.context.communicator, [&] {
      job.phase.begins();
      return "";
    });
  }
  if (job.is_main_rank() && !place.is_scratch)
    job.log_file.emplace(run_of(job, *run.directory) / kLogFile);
  run.session->attach(*run.directory, job.loaded.resolved, run.resumed);
  return run;
}

/// Ends the session; the run's exit code. Every rank must call it.
int finish(ReadyRun run, const train::FitResult& result, const Job& job) {
  const std::uint64_t peak_bytes = most_tensor_bytes(job.context);
  comm::first_rank_decides(job.context.communicator, [&] {
    report_run(std::move(run.session), result, peak_bytes, *run.directory, job);
    return "";
  });
  return result.reason == train::FitResult::Reason::kSignal ? 128 + result.signal : 0;
}

/// Throws the exception at hand again, with advice if memory ran out, and leaves it in the log.
[[noreturn]] void explain(const Job& job) try {
  rethrow_with_advice(job.loaded.recipe, job.context.registries, job.world_size(),
                      job.context.ranks_per_node);
} catch (const std::exception& error) {
  if (job.log_file) job.log_file->add_error(error.what());
  throw;
}

/// What a recipe asks for that is hardly meant.
void note_doubts(const Job& job) {
  const ModelSection& model = job.loaded.recipe.model;
  if (!job.phase.resume && !model.freeze.empty() && !model.pretrained)
    job.loaded.notes.emplace_back(
        "model.freeze keeps random weights as they are: without model.pretrained, frozen parts "
        "never learn");
}

/// checkpoint.monitor and mode as the recipe's task has them, so that a later start with another
/// task, or another paceline, still looks at the same.
config::Node monitor_in(const Recipe& recipe, const Registries& registries) {
  const auto task = make_task(recipe, registries);
  const train::Monitor monitor =
      train::monitor_of(recipe.checkpoint.monitor, recipe.checkpoint.mode, task->metrics());
  config::Node known = config::Node::map();
  config::Node& section = known.set("checkpoint", config::Node::map());
  section.set("monitor", config::Node::scalar(monitor.metric));
  section.set("mode", config::Node::scalar(std::string(config::enum_name(monitor.mode))));
  return known;
}

config::Node list_of(const std::vector<double>& numbers) {
  std::vector<config::Node> items;
  for (const double number : numbers)
    items.push_back(config::Node::scalar(fmt::format("{}", number)));
  return config::Node::list(std::move(items));
}

}  // namespace

LoadedRecipe load_recipe(config::Loaded<Recipe> loaded, const Registries& registries,
                         int world_size, at::DeviceType device,
                         const base::Interruption* interruption) {
  const config::BindContext context = registries.context(world_size);
  std::unique_ptr<data::Dataset> train_set;
  std::vector<std::string> notes;
  config::Node learnt = config::Node::map();
  const auto opened = [&]() -> const data::Dataset& {
    if (!train_set)
      train_set = open_dataset(loaded.value, registries, data::Split::kTrain, interruption);
    return *train_set;
  };
  std::optional<int> num_outputs = num_outputs_of_task(loaded.value, loaded.written, registries);
  if (leaves_outputs_open(loaded.value, loaded.written)) {
    if (!num_outputs) num_outputs = opened().num_classes();
    if (*num_outputs > 0)
      learnt.set("model", config::Node::map())
          .set("num_classes", config::Node::scalar(std::to_string(*num_outputs)));
  }
  if (wants_class_balance(loaded.value.loss))
    learnt.set("loss", config::Node::map())
        .set("class_weights", list_of(balanced_class_weights(opened())));
  const auto choice = train::choose_precision(loaded.value.train.precision, device);
  if (choice.precision != loaded.value.train.precision) {
    const std::string name(config::enum_name(choice.precision));
    learnt.set("train", config::Node::map()).set("precision", config::Node::scalar(name));
    notes.push_back(fmt::format("train.precision: auto is {}: {}", name, choice.reason));
  }
  const auto take = [&](const config::Node& known) {
    loaded.written = config::merge(loaded.written, known, config::describe<Recipe>());
    loaded.value = config::bind<Recipe>(loaded.written, context);
  };
  if (!learnt.entries.empty()) take(learnt);
  if (!loaded.value.checkpoint.monitor || !loaded.value.checkpoint.mode)
    take(monitor_in(loaded.value, registries));
  return {loaded.value, config::to_node(config::describe<Recipe>(), &loaded.value),
          resolved_without_paths(loaded.written, context), std::move(train_set), std::move(notes)};
}

LoadedRecipe load_recipe(const std::filesystem::path& path, const config::Overrides& overrides,
                         const Registries& registries, int world_size) {
  PhasedRecipe recipe = load_phases(path, overrides, registries.context(world_size));
  return load_recipe(std::move(recipe.phases.front().recipe), registries, world_size);
}

PhasedRecipe load_single_phase(const TrainRequest& request, const config::BindContext& context,
                               std::string_view verb, std::string_view why) {
  const config::Overrides overrides(request.overrides, request.overrides_on_top);
  if (request.only_phase)
    return load_one_phase(request.recipe, overrides, *request.only_phase, context);
  PhasedRecipe recipe = load_phases(request.recipe, overrides, context);
  if (!recipe.has_phases()) return recipe;
  std::vector<std::string> names;
  for (const Phase& phase : recipe.phases) names.push_back(phase.name);
  throw base::ConfigError(fmt::format("{0}: {1} has phases, {2}: name one of {3} with {0} --phase",
                                      verb, request.recipe.string(), why, base::join(names, ", ")));
}

void agree_on_recipe(const LoadedRecipe& loaded, comm::Communicator& communicator) {
  std::map<std::string, std::string> facts = section_texts(loaded.without_paths);
  facts["paceline version"] = base::kVersion;
  comm::agree(communicator, facts);
}

RunPlace place_of(const Recipe& recipe, const std::optional<std::filesystem::path>& directory,
                  bool is_scratch) {
  return {.wanted = directory,
          .parent = recipe.run.dir,
          .name = recipe.run.name,
          .checkpoint_dir = recipe.checkpoint.dir,
          .saves = recipe.checkpoint.every.has_value(),
          .is_scratch = is_scratch};
}

int run_phase(PhaseJob phase, const TrainRequest& request, const SessionContext& context) {
  context.communicator.set_timeout(collective_timeout(phase.loaded.recipe.parallel));
  std::optional<base::LogFile> log_file;
  const Job job{phase, phase.loaded, request, context, log_file};
  note_doubts(job);
  try {
    const AddressReserve reserve;
    if (request.is_dry_run) return dry_run(job);
    ReadyRun run = prepare_run(job);
    tensor::restart_peak();
    const train::FitResult result = run.session->trainer().fit();
    return finish(std::move(run), result, job);
  } catch (...) {
    explain(job);
  }
}

}  // namespace paceline::app
