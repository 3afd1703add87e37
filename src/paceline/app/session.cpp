#include "paceline/app/session.h"

#include "paceline/app/assembly/assembly.h"
#include "paceline/app/assembly/batch_resizing.h"
#include "paceline/app/assembly/first_weights.h"
#include "paceline/app/assembly/image_values.h"
#include "paceline/app/assembly/initial_values.h"
#include "paceline/app/assembly/local_ranks.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/assembly/recipe_check.h"
#include "paceline/app/assembly/surgery.h"
#include "paceline/app/memory_estimate.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/resume.h"
#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/checkpoint/branch.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/finite_check.h"
#include "paceline/comm/agreement.h"
#include "paceline/config/write.h"
#include "paceline/nn/module_tree.h"
#include "paceline/train/checkpoint_saver.h"
#include "paceline/train/evaluator.h"
#include "paceline/train/monitor.h"
#include "paceline/train/run_state.h"
#include "paceline/train/trainer.h"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

/// Every scalar and list of a resolved recipe under its full key.
void flatten(const config::Node& node, const std::string& path,
             std::vector<std::pair<std::string, std::string>>& out) {
  for (const config::MapEntry& entry : node.entries) {
    const std::string key = config::join_path(path, entry.key);
    if (entry.value.is_map()) {
      flatten(entry.value, key, out);
    } else {
      out.emplace_back(key, config::to_flow_yaml(entry.value));
    }
  }
}

/// "160", or "96 x 128" of images that are not square.
std::string size_text(data::ImageSize size) {
  if (size.height == size.width) return std::to_string(size.height);
  return fmt::format("{} x {}", size.height, size.width);
}

}  // namespace

SessionChanges SessionChanges::at_most(std::int64_t steps, const Recipe& recipe) {
  SessionChanges changes;
  changes.duration = recipe.train.duration;
  changes.duration->any_of.push_back({static_cast<double>(steps), config::TimeUnit::kBatch});
  return changes;
}

Session::Session(const Recipe& recipe, const SessionContext& context, SessionChanges changes,
                 std::unique_ptr<data::Dataset> train_set)
    : recipe_(recipe),
      context_(context),
      notes_(find_first_weights(context.registries, context.communicator, context.files,
                                context.interruption, recipe_)),
      train_part_(open_data(recipe_, context.registries, data::Split::kTrain, &context.interruption,
                            std::move(train_set))),
      val_part_(open_validation(recipe_, context.registries, train_part_.dataset->class_names(),
                                context.communicator.rank(), &context.interruption)),
      batches_(batch_arithmetic(recipe, choose_sampler(train_part_, recipe, context.registries),
                                context.communicator.world_size())),
      optimizer_plan_(context.registries.optimizers.build(recipe.optimizer)),
      base_lr_(base_lr_of(optimizer_plan_->lr, recipe.train, batches_.global_batch_size)),
      schedule_(changes.schedule
                    ? std::move(changes.schedule)
                    : context.registries.schedules.build(recipe.schedule, batches_.lengths)) {
  check_momentum(*schedule_, *optimizer_plan_);
  if (changes.duration) recipe_.train.duration = *std::move(changes.duration);
  choose_kernels(recipe_, context.device);
  DataPlace place = data_place(recipe_, context.communicator, context.num_threads, context.device);
  place.batch_memory = std::move(changes.batch_memory);
  add_progressive_resizing(train_part_, recipe_, context_.registries, batches_.lengths);
  for (const ImageSizeChange& change : train_part_.image_sizes)
    notes_.push_back(fmt::format("from step {} on, training images of {} pixels", change.first_step,
                                 size_text(change.size)));
  make_loader(train_part_, recipe_, context_.registries, batches_.global_batch_size,
              data::Split::kTrain, place);
  if (val_part_)
    make_loader(*val_part_, recipe_, context_.registries, batches_.global_batch_size,
                data::Split::kVal, place);
  check_samples(recipe_, context_.registries, val_part_.has_value(), context_.communicator,
                &context_.interruption);
  train_part_.loader->start();  // reads the first batches while the model is built

  state_.clock.lengths = batches_.lengths;
  if (recipe_.train.precision == train::Precision::kFloat16)
    state_.scaler.emplace(recipe_.train.grad_scaler);
  state_.task = make_task(recipe_, context.registries);
  train::set_monitor(recipe_.checkpoint, state_.task->metrics());
  nn::Network& network = state_.task->network();
  nn::set_device(network, context.device.place());
  meet_samples(*state_.task, train_part_);
  const std::int64_t last_batch =
      recipe_.data.drop_last ? 0
                             : train_part_.sampler->places_per_epoch() % batches_.global_batch_size;
  check_views(*state_.task, batches_, last_batch);
  if (val_part_) meet_samples(*state_.task, *val_part_);
  const TensorOrigins origins(network);
  batch_norm_group_ = synchronise_batch_norm(recipe_, network, context.communicator, notes_);
  state_.strategy = make_strategy(recipe_, context.communicator, context.ranks_per_node);
  build_engine(last_batch, std::move(changes.callbacks));
  const train::RunContext run{
      context_.communicator, {}, recipe_.run.seed, {}, context_.interruption.signal(),
      context_.device};
  const auto rules = group_rules(*optimizer_plan_, network);
  change_network(state_, *engine_, run);
  surgery_ = surgery_done(*engine_, recipe_);
  state_.strategy->prepare(
      network, rules,
      with_values_of_images(
          initial_values(recipe_, network, origins, train_part_.dataset->class_names(), notes_),
          network, *train_part_.dataset, recipe_, context.registries, context.communicator));
  if (recipe_.model.pretrained) refuse_non_finite_weights();
  add_training_state(state_, *engine_, run, *optimizer_plan_);
  if (!val_part_) return;
  evaluator_ =
      std::make_unique<train::Evaluator>(*val_part_->loader, "val", recipe_.train.eval_batches,
                                         max_skipped(recipe_.data, *val_part_->dataset));
  evaluator_->show_pictures();
}

Session::~Session() = default;

void Session::refuse_non_finite_weights() const {
  const std::string problem =
      checkpoint::find_non_finite(state_.strategy->model_state(), context_.communicator);
  if (problem.empty()) return;
  throw base::CheckpointError(fmt::format("model.pretrained: {}: {}; choose other weights",
                                          *recipe_.model.pretrained, problem));
}

void Session::build_engine(std::int64_t last_batch,
                           std::vector<std::unique_ptr<train::Callback>> more_callbacks) {
  auto algorithms = make_algorithms(recipe_, context_.registries);
  if (auto resizing = make_batch_resizing(recipe_.data.progressive_resizing, train_part_))
    algorithms.push_back(std::move(resizing));
  auto callbacks = make_callbacks(recipe_, context_.registries);
  std::ranges::move(more_callbacks, std::back_inserter(callbacks));
  check_metric_names(recipe_, val_part_.has_value(), *state_.task, algorithms, callbacks);
  check_least_samples(algorithms, batches_, last_batch);
  engine_ = std::make_unique<train::Engine>(std::move(algorithms), std::move(callbacks));
  std::ranges::copy(engine_->notes(), std::back_inserter(notes_));
}

void Session::resume(checkpoint::CheckpointReader& reader) {
  const checkpoint::Manifest& manifest = reader.manifest();
  check_inputs(reader, inputs());
  if (manifest.surgery) check_surgery(surgery_, *manifest.surgery, reader.directory());
  train::check_algorithms(manifest.state, *engine_);
  load_checkpoint(reader, train::saved_shards(state_, *engine_, manifest.state),
                  checkpoint::ExtraTensors::kIgnoreAlgorithms, context_.communicator);
  state_.strategy->state_was_loaded();
  train::load_state_dict(manifest.state, state_, *engine_);
  if (context_.communicator.rank() != 0) return;
  for (const std::string& difference :
       checkpoint::differences(manifest.environment, environment())) {
    base::log_warning("the last bits may differ from the run without the stop: {}", difference);
  }
}

checkpoint::Environment Session::environment() const {
  return checkpoint::current_environment(context_.communicator.world_size(),
                                         context_.device.model());
}

void Session::attach(const RunDirectory& directory, const config::Node& resolved,
                     const std::optional<std::filesystem::path>& resumed) {
  run_directory_ = directory.path();
  if (directory.owns_checkpoint_folder()) checkpoint_folder_ = directory.checkpoint_folder();
  std::vector<metrics::LocalRank> local_ranks =
      ranks_beside_first(context_.communicator, context_.device.uuid());
  comm::first_rank_decides(context_.communicator, [&] {
    take_over(directory, resolved, resumed, std::move(local_ranks));
    return "";
  });
  const auto best = resumed ? best_value(directory.checkpoint_folder()) : std::nullopt;
  train::CheckpointFacts facts{directory.checkpoint_folder(),
                               config::to_yaml(resolved),
                               environment(),
                               inputs(),
                               train_set().class_names(),
                               surgery_,
                               std::nullopt,
                               best,
                               [&directory] { directory.require(); },
                               [](const std::filesystem::path&) {},
                               directory.is_scratch()};
  if (!directory.is_scratch())  // what goes away with the run is nothing to tell of
    facts.tell_saved = [this](const std::filesystem::path& saved) {
      engine_->tell_saved(saved, context_.files);
    };
  if (resumed) facts.resumed_step = state_.clock.step;
  saver_ = std::make_unique<train::CheckpointSaver>(recipe_.checkpoint, std::move(facts),
                                                    batches_.lengths, context_.files);
}

train::Trainer& Session::trainer() {
  if (trainer_) return *trainer_;
  run_ = std::make_unique<const train::RunContext>(
      train::RunContext{context_.communicator, run_directory_, recipe_.run.seed, sink_pointers_,
                        context_.interruption.signal(), context_.device,
                        train::autocast_dtype(recipe_.train.precision)});
  trainer_ = std::make_unique<train::Trainer>(
      train::TrainerParts{.state = state_,
                          .run = *run_,
                          .engine = *engine_,
                          .loader = *train_part_.loader,
                          .schedule = *schedule_,
                          .base_lr = base_lr_.value,
                          .evaluator = evaluator_.get(),
                          .saver = saver_.get(),
                          .is_forward_collective = batch_norm_group_.is_forward_collective,
                          .max_skipped = max_skipped(recipe_.data, *train_part_.dataset),
                          .first_step_done = context_.first_step_done,
                          .sample_name = [&set = *train_part_.dataset](
                                             std::int64_t index) { return set.describe(index); }},
      recipe_.train);
  return *trainer_;
}

void Session::take_over(const RunDirectory& directory, const config::Node& resolved,
                        const std::optional<std::filesystem::path>& resumed,
                        std::vector<metrics::LocalRank> local_ranks) {
  const std::filesystem::path& folder = directory.checkpoint_folder();
  if (directory.owns_checkpoint_folder()) checkpoint::clean_leftovers(context_.files, folder);
  make_sinks(directory.path(), std::move(local_ranks));
  if (resumed) branch_off(*resumed, folder);
  write_file_atomically(context_.files, directory.config_file(), config::to_yaml(resolved));
  const auto values = hparams(resolved);
  for (metrics::MetricSink* sink : sink_pointers_) {
    sink->resume_at(resumed ? state_.clock.step : -1);
    sink->log_hparams(values);
  }
  if (resumed) base::log_info("resumed {} at step {}", resumed->string(), state_.clock.step);
}

std::optional<double> Session::best_value(const std::filesystem::path& folder) const {
  if (recipe_.checkpoint.keep_best == 0) return std::nullopt;
  const auto best = [&](const checkpoint::DamageOf& known) {
    const auto found = checkpoint::best_whole(folder, *recipe_.checkpoint.monitor,
                                              *recipe_.checkpoint.mode, known);
    return found ? found->path : std::filesystem::path();
  };
  const auto reader = checkpoint::open_whole(best, context_.communicator);
  return reader ? std::optional(reader->manifest().monitored->value) : std::nullopt;
}

void Session::branch_off(const std::filesystem::path& resumed,
                         const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> records;
  for (const metrics::MetricSink* sink : sink_pointers_) {
    for (std::filesystem::path& file : sink->files_to_cut()) records.push_back(std::move(file));
  }
  const checkpoint::Branch branch =
      checkpoint::continue_from(context_.files, resumed, folder, records);
  if (branch.aside.empty()) return;
  base::log_warning("what was saved later, of step {}, lies in {} from here on",
                    fmt::join(branch.abandoned_steps, ", "), branch.aside.string());
}

void Session::make_sinks(const std::filesystem::path& run_directory,
                         std::vector<metrics::LocalRank> local_ranks) {
  const loggers::SinkContext sink_context{run_directory, batches_.lengths.total_steps,
                                          &context_.files, std::move(local_ranks),
                                          context_.cores_per_node};
  for (const auto& [name, component] : recipe_.loggers) {
    sinks_.push_back(context_.registries.loggers.build(component, sink_context));
    sink_pointers_.push_back(sinks_.back().get());
  }
}

std::map<std::string, std::string> Session::inputs() const {
  std::map<std::string, std::string> inputs{{"training data", describe(train_set())}};
  if (val_set() != nullptr) inputs["validation data"] = describe(*val_set());
  return inputs;
}

MemoryEstimate Session::memory() const {
  return state_memory(recipe_, state_, *engine_, batches_, fields());
}

MemoryQuestion Session::memory_question() const {
  return {context_.communicator.world_size(), context_.ranks_per_node, fields(), train_set().size(),
          context_.device.is_asynchronous()};
}

std::optional<checkpoint::Listed> Session::best_checkpoint() const try {
  if (!checkpoint_folder_) return std::nullopt;
  auto best = checkpoint::best_of(checkpoint::list_checkpoints(*checkpoint_folder_).complete,
                                  *recipe_.checkpoint.monitor, *recipe_.checkpoint.mode, 1);
  return best.empty() ? std::nullopt : std::optional(std::move(best.front()));
} catch (const base::Error& error) {  // the run has ended well all the same
  base::log_warning("which checkpoint is the best is not known: {}", error.what());
  return std::nullopt;
}

std::map<std::string, std::map<std::string, double>> Session::summaries() const {
  std::map<std::string, std::map<std::string, double>> summaries;
  for (metrics::MetricSink* sink : sink_pointers_) {
    for (const auto& [name, value] : sink->summarise()) {
      summaries[std::string(sink->name())][name] = value;
    }
  }
  return summaries;
}

std::vector<std::pair<std::string, std::string>> Session::hparams(
    const config::Node& resolved) const {
  std::vector<std::pair<std::string, std::string>> values;
  flatten(resolved, "", values);
  return values;
}

}  // namespace paceline::app
