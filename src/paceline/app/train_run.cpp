#include "paceline/app/train_run.h"

#include "paceline/app/banner.h"
#include "paceline/app/summary.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/version.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/comm/agreement.h"
#include "paceline/config/load.h"
#include "paceline/config/merge.h"
#include "paceline/config/resume.h"
#include "paceline/config/write.h"

namespace paceline::app {
namespace {

/// The overrides that make a run short: every kind of work once, on the real data.
std::vector<std::string> fast_dev_overrides(int steps) {
  return {fmt::format("++train.eval_every={}ba", steps),
          fmt::format("++checkpoint.every={}ba", steps), "++train.min_duration=null",
          "++train.eval_batches=" + std::to_string(steps)};
}

/// Every rank's configuration and data must be the same, or they would train different models.
void agree_with_peers(const config::Node& resolved, const Session& session,
                      comm::Communicator& communicator) {
  std::map<std::string, std::string> facts{{"paceline version", std::string(base::kVersion)},
                                           {"training data", session.train_set().fingerprint()},
                                           {"validation data", session.val_set().fingerprint()}};
  for (const config::MapEntry& section : resolved.entries) {
    facts[section.key] = config::to_flow_yaml(section.value);
  }
  comm::agree(communicator, facts);
}

/// The checkpoint that --resume names; with "auto" "" for a run that has not saved yet.
std::string checkpoint_to_resume(const std::string& resume, const RunDirectory& directory,
                                 const Recipe& recipe) {
  const bool is_auto = resume == "auto";
  const std::filesystem::path folder = directory.checkpoint_folder(recipe.checkpoint.dir);
  if (is_auto && checkpoint::list_checkpoints(folder).complete.empty()) {
    base::log_info("{} holds no checkpoint yet: starting anew", folder.string());
    return "";
  }
  const CheckpointChoice choice = find_checkpoint(is_auto ? folder : std::filesystem::path(resume));
  for (const std::string& note : choice.notes) base::log_warning(note);
  return choice.path.string();
}

void report_end(const train::FitResult& result, const Session& session,
                const RunDirectory& directory) {
  base::log_info("done after step {}: {}", session.state().clock.step, result.text);
  for (const auto& [name, value] : session.state().last_eval)
    base::log_info("  {} {:.4f}", name, value);
  const data::LoaderCounts counts = session.loader_counts();
  if (counts.skipped_samples > 0) {
    base::log_warning("{} samples could not be read and were replaced; the last was {}",
                      counts.skipped_samples, counts.last_skipped);
  }
  base::log_info("the run is in {}", directory.path().string());
}

}  // namespace

LoadedRecipe load_recipe(const std::filesystem::path& path,
                         const std::vector<std::string>& overrides, const Registries& registries,
                         int world_size, at::DeviceType device) {
  const config::BindContext context{registries.catalogs(), world_size};
  config::Loaded<Recipe> loaded = config::load<Recipe>(path, overrides, context);
  std::unique_ptr<data::Dataset> train_set;
  std::vector<std::string> notes;
  config::Node learnt = config::Node::map();
  if (!loaded.written.find_path("model.num_classes")) {
    train_set = registries.datasets.build(loaded.value.data.source)->open(data::Split::kTrain);
    learnt.set("model", config::Node::map())
        .set("num_classes", config::Node::scalar(std::to_string(train_set->num_classes())));
  }
  const auto choice = train::choose_precision(loaded.value.train.precision, device);
  if (choice.precision != loaded.value.train.precision) {
    const std::string name(config::enum_name(choice.precision));
    learnt.set("train", config::Node::map()).set("precision", config::Node::scalar(name));
    notes.push_back(fmt::format("train.precision: auto is {}: {}", name, choice.reason));
  }
  if (!learnt.entries.empty()) {
    loaded.written = config::merge(loaded.written, learnt, config::describe<Recipe>());
    loaded.value = config::bind<Recipe>(loaded.written, context);
  }
  return {loaded.value, config::to_node(config::describe<Recipe>(), &loaded.value),
          std::move(train_set), std::move(notes)};
}

int run_training(const TrainRequest& request, const SessionContext& context) {
  comm::Communicator& communicator = context.communicator;
  const bool is_main_rank = communicator.rank() == 0;
  std::vector<std::string> overrides = request.overrides;
  if (request.is_fast_dev_run) {
    for (std::string& text : fast_dev_overrides(request.fast_dev_steps))
      overrides.push_back(std::move(text));
  }
  LoadedRecipe loaded = load_recipe(request.recipe, overrides, context.registries,
                                    communicator.world_size(), context.device.place().type());
  Session session(
      loaded.recipe, context,
      request.is_fast_dev_run ? std::optional<std::int64_t>(request.fast_dev_steps) : std::nullopt,
      std::move(loaded.train_set));
  agree_with_peers(loaded.resolved, session, communicator);
  if (is_main_rank) {
    for (const std::string& line : banner(loaded.recipe, session, context)) base::log_info(line);
    for (const std::string& note : loaded.notes) base::log_info("note: {}", note);
  }
  if (request.is_dry_run) {
    if (is_main_rank) {
      for (const std::string& line : plan(loaded.recipe, session)) base::log_info(line);
      base::log_info("dry run: nothing was trained and nothing written");
    }
    return 0;
  }

  std::optional<base::TempDir> scratch;
  if (request.is_fast_dev_run && is_main_rank) scratch.emplace("paceline-dev-run");
  const auto wanted = scratch ? std::optional(scratch->path()) : request.run_directory;
  const RunDirectory directory(wanted, loaded.recipe.run.dir, loaded.recipe.run.name,
                               request.resume.has_value(), communicator);
  session.attach(directory, loaded.resolved);
  if (request.resume) {
    const std::string path = first_rank_decides(communicator, [&] {
      return checkpoint_to_resume(*request.resume, directory, loaded.recipe);
    });
    if (path.empty()) {
      session.start_anew();
    } else {
      session.resume(path, loaded.resolved);
    }
  }
  const train::FitResult result = session.fit();
  if (is_main_rank) {
    write_summary(directory.summary_file(), session, result, context.files);
    report_end(result, session, directory);
  }
  communicator.barrier();
  return result.reason == train::FitResult::Reason::kSignal ? 128 + result.signal : 0;
}

}  // namespace paceline::app
