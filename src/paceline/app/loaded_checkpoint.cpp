#include "paceline/app/loaded_checkpoint.h"

#include "paceline/app/assembly/assembly.h"
#include "paceline/app/assembly/initial_values.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/assembly/surgery.h"
#include "paceline/app/export/exported_model.h"
#include "paceline/app/recipe/batch_arithmetic.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe_parts.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/comm/agreement.h"
#include "paceline/config/bind.h"
#include "paceline/config/load.h"
#include "paceline/config/override.h"
#include "paceline/config/parse.h"
#include "paceline/data/dataset/class_alignment.h"
#include "paceline/data/loader/array_maker.h"
#include "paceline/nn/module_tree.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace paceline::app {
namespace {

bool changes(const std::vector<std::string>& overrides, std::string_view key) {
  return std::ranges::any_of(
      overrides, [&](const std::string& text) { return config::Override::parse(text).key == key; });
}

bool is_set(const config::Node& recipe, std::string_view key) {
  const config::Node* const value = recipe.find_path(key);
  return value != nullptr && !value->is_null();
}

/// Other data are asked for validation images alone: by data.val_path they need neither a training
/// part nor folders of the same names. What val_share holds out is of the run's own data, wherever
/// they lie now.
void take_path_for_validation(const config::Node& saved, std::vector<std::string>& overrides) {
  constexpr std::string_view kPath = "data.path";
  if (is_set(saved, "data.val_share") || changes(overrides, "data.val_share") ||
      changes(overrides, "data.val_path")) {
    return;
  }
  for (std::string& text : overrides) {
    if (config::Override::parse(text).key == kPath)
      text.replace(text.find(kPath), kPath.size(), "data.val_path");
  }
}

/// A share that the run did not hold out is of samples that it has learnt from.
void warn_of_other_share(const config::Node& saved, const config::Node& now) {
  if (!is_set(now, "data.val_share")) return;
  for (const std::string_view key : {"data.val_share", "data.subset_seed"}) {
    const config::Node* const before = saved.find_path(key);
    const config::Node* const after = now.find_path(key);
    if (before == nullptr || after == nullptr || config::same_value(*before, *after)) continue;
    base::log_warning(
        "{} is {} and was {} when the run trained: some of these samples it has learnt from, so "
        "the result says little",
        key, after->text, before->is_null() ? "null" : before->text);
    return;
  }
}

/// A saved recipe with overrides.
Recipe overridden(const config::Node& saved, std::vector<std::string> overrides,
                  const SessionContext& context) {
  take_path_for_validation(saved, overrides);
  config::Node node = saved;
  config::Problems problems;
  config::override_recipe(node, overrides, config::describe<Recipe>(), problems);
  problems.throw_if_any();
  if (context.communicator.rank() == 0) warn_of_other_share(saved, node);
  Recipe recipe =
      config::bind<Recipe>(node, context.registries.context(context.communicator.world_size()));
  num_outputs_of_task(recipe, node, context.registries);  // no override may contradict the task
  recipe.train.precision =
      train::choose_precision(recipe.train.precision, context.device.place().type()).precision;
  return recipe;
}

/// The recipe that a checkpoint was made by, with overrides, and with what was done to its network.
Recipe recipe_of(const checkpoint::CheckpointReader& reader,
                 const std::vector<std::string>& overrides, const SessionContext& context) {
  const std::string source = (reader.directory() / checkpoint::kManifestFile).string();
  const config::Node saved = config::parse_yaml(reader.manifest().config, source);
  Recipe recipe = overridden(saved, overrides, context);
  const auto bind_context = context.registries.context(context.communicator.world_size());
  rebuild_by_record(reader.manifest(), reader.directory(), context.registries,
                    config::bind<Recipe>(saved, bind_context), recipe);
  recipe.model.pretrained.reset();  // the checkpoint's weights take its place
  return recipe;
}

/// The recipe of exported weights, which are to fit as they are.
Recipe recipe_of(const ExportedModel& exported, const std::vector<std::string>& overrides,
                 const SessionContext& context) {
  Recipe recipe = overridden(exported.recipe, overrides, context);
  recipe.model.pretrained = exported.weights.string();
  recipe.model.pretrained_strict = true;
  take_surgery_of_weights(context.registries, recipe);
  return recipe;
}

/// The same on all ranks, whatever disks they have; what is wrong anywhere is told by all of them.
ExportedModel read_exported(const std::filesystem::path& weights, const SessionContext& context) {
  comm::first_rank_decides(context.communicator, [&] {
    read_exported_model(weights, context.registries);
    return "";
  });
  std::optional<ExportedModel> model;
  std::string fingerprint;
  try {
    model = read_exported_model(weights, context.registries);
    fingerprint = fingerprint_of_exported(weights);
  } catch (const base::Error& error) {
    fingerprint = error.what();
  }
  comm::agree(context.communicator, {{"exported weights", fingerprint}});
  return *std::move(model);
}

/// Finds out what the request names, and by what recipe that was made.
void open_weights(LoadedCheckpoint& loaded, const EvalRequest& request,
                  const SessionContext& context) {
  constexpr char kExported = 'e';
  constexpr char kCheckpoint = 'c';
  const std::string found = comm::first_rank_decides(context.communicator, [&] {
    const auto exported = find_exported_weights(request.run_or_checkpoint);
    return exported ? kExported + exported->string()
                    : kCheckpoint + find_checkpoint(request.run_or_checkpoint).string();
  });
  loaded.path = found.substr(1);
  if (found.front() == kCheckpoint) {
    loaded.reader = checkpoint::open_checkpoint(loaded.path, context.communicator);
    loaded.class_names = loaded.reader->manifest().class_names;
    loaded.step = loaded.reader->manifest().step;
    loaded.weights = checkpoint::chosen_weights(loaded.reader->manifest(), request.weights);
    if (loaded.weights.empty()) loaded.weights = checkpoint::kTrainedWeights;
    loaded.recipe = recipe_of(*loaded.reader, request.overrides, context);
    return;
  }
  if (!request.weights.empty())
    throw base::ConfigError(
        fmt::format("--weights {}: {} holds one set of weights; export those by --weights, or give "
                    "the run",
                    request.weights, loaded.path.string()));
  ExportedModel exported = read_exported(loaded.path, context);
  loaded.class_names = std::move(exported.class_names);
  loaded.step = exported.step;
  loaded.recipe = recipe_of(exported, request.overrides, context);
}

/// Opens what the request brings, where the recipe's network can see it; else null.
std::unique_ptr<data::Dataset> open_brought(const LoadedCheckpoint& loaded,
                                            const EvalRequest& request, bool sees_images) {
  if (!request.open_images && !request.open_arrays) return nullptr;
  const std::string path = loaded.path.string();
  const std::string& source = loaded.recipe.data.source.name;
  if (sees_images && !request.open_images)
    throw base::ConfigError(fmt::format(
        "the network of {} was trained on images ({}): name images, and no views of patients", path,
        source));
  if (sees_images) return request.open_images();
  if (request.open_arrays) return request.open_arrays(loaded.recipe);
  throw base::ConfigError(fmt::format(
      "the network of {} was trained on {}, whose samples are no images: leave the images out, "
      "and name data by data.path",
      path, source));
}

/// Opens what the weights are to see.
void open_part(LoadedCheckpoint& loaded, const EvalRequest& request,
               const SessionContext& context) {
  const Recipe& recipe = loaded.recipe;
  const bool sees_images = !context.registries.datasets.build(recipe.data.source)->make_samples;
  auto dataset = open_brought(loaded, request, sees_images);
  loaded.is_own = dataset == nullptr;
  if (dataset && sees_images) loaded.recipe.data.on_error = data::OnError::kSkip;
  if (dataset && !sees_images) {
    loaded.part.maker = std::make_shared<data::ArrayMaker>(dataset->stored_fields());
    loaded.part.dataset = std::move(dataset);
    return;
  }
  if (!dataset)
    dataset = open_dataset(recipe, context.registries, data::Split::kVal, &context.interruption);
  const std::vector<std::string>& names = loaded.class_names;
  if (names.empty() && !loaded.reader && !request.align && !dataset->class_names().empty() &&
      context.communicator.rank() == 0) {
    base::log_warning(
        "{} does not tell its classes' names: the data's are taken as its first {}; --class-map "
        "FILE says which they are",
        loaded.path.string(), dataset->num_classes());
  }
  dataset = request.align ? request.align(std::move(dataset), names)
                          : data::align_classes(std::move(dataset), names);
  loaded.part = open_data(recipe, context.registries, data::Split::kVal, &context.interruption,
                          std::move(dataset));
  if (!request.make_samples) return;
  loaded.part.maker = request.make_samples(recipe);
  loaded.part.pipeline = nullptr;  // which would make others
}

/// How many samples go through the network at once. Of images that someone waits for few enough to
/// tell the first ones soon, and for the machine at hand, which need not be the one that trained.
/// What is given out of other samples may be large, so of these one after the other.
std::int64_t batch_size_of(const LoadedCheckpoint& loaded, const EvalRequest& request,
                           int world_size) {
  const Recipe& recipe = loaded.recipe;
  const std::int64_t most_per_rank = loaded.part.pipeline ? 64 : 1;
  const std::int64_t size =
      std::max<std::int64_t>(1, global_batch_size_of(recipe.data, world_size) / request.num_views);
  if (loaded.is_own || changes(request.overrides, "data.global_batch_size") ||
      changes(request.overrides, "data.batch_size_per_rank")) {
    return size;
  }
  return std::min(size, most_per_rank * world_size);
}

/// Nothing of it is trained.
optim::GroupRule all_parameters() {
  return {"all", 0.0, 1.0, [](const auto&, const auto&) { return true; }};
}

/// Has the network made as it was trained, with the weights of a checkpoint.
void fill_from_checkpoint(LoadedCheckpoint& loaded, const SessionContext& context) {
  const checkpoint::Manifest& manifest = loaded.reader->manifest();
  train::TrainState& state = loaded.state;
  const auto undefined = [](const nn::NamedTensor&) {};  // the checkpoint gives all values
  lay_out(state, *loaded.engine, evaluation_context(loaded.recipe, context),
          std::array{all_parameters()}, undefined);
  if (manifest.surgery)
    check_surgery(surgery_done(*loaded.engine, loaded.recipe), *manifest.surgery, loaded.path);
  auto shards = state.strategy->model_state();
  for (tensor::StateShard& shard : shards)
    shard.name = checkpoint::name_of_weight(manifest, loaded.weights, shard.name);
  load_checkpoint(*loaded.reader, shards, checkpoint::ExtraTensors::kIgnore, context.communicator);
  state.strategy->state_was_loaded();
}

/// The same with exported weights, which all of it has to have.
void fill_with_exported(LoadedCheckpoint& loaded, const SessionContext& context) {
  train::TrainState& state = loaded.state;
  const nn::Network& network = state.task->network();
  const TensorOrigins origins(network);
  change_network(state, *loaded.engine, evaluation_context(loaded.recipe, context));
  std::vector<std::string> notes;  // of what is made to fit, which here nothing is
  state.strategy->prepare(
      state.task->network(), std::array{all_parameters()},
      initial_values(loaded.recipe, network, origins, loaded.class_names, notes));
}

/// Tells the task of the samples, which lack what only the network's training saw if they are
/// brought as arrays.
void meet(LoadedCheckpoint& loaded) {
  train::Task& task = *loaded.state.task;
  if (loaded.is_own || loaded.part.pipeline) return meet_samples(task, loaded.part);
  task.take_constants(loaded.part.dataset->constants());
  static_cast<void>(  // throws for inputs of other sizes than the network's
      task.network().flops_per_sample(sample_sizes(loaded.part.maker->fields())));
}

/// Builds the network and fills it.
void load_network(LoadedCheckpoint& loaded, const SessionContext& context) {
  const Recipe& recipe = loaded.recipe;
  train::TrainState& state = loaded.state;
  state.task = make_task(recipe, context.registries);
  meet(loaded);
  nn::set_device(state.task->network(), context.device.place());
  state.strategy = make_strategy(recipe, context.communicator, context.ranks_per_node);
  loaded.engine = make_engine_of_algorithms(recipe, context.registries);
  if (loaded.reader) {
    fill_from_checkpoint(loaded, context);
  } else {
    fill_with_exported(loaded, context);
  }
}

}  // namespace

train::RunContext evaluation_context(const Recipe& recipe, const SessionContext& context) {
  return {context.communicator, {}, recipe.run.seed, {}, context.interruption.signal(),
          context.device};
}

LoadedCheckpoint load_checkpoint_with_data(const EvalRequest& request,
                                           const SessionContext& context) {
  comm::Communicator& communicator = context.communicator;
  LoadedCheckpoint loaded;
  open_weights(loaded, request, context);
  if (request.adapt) request.adapt(loaded.recipe);
  const Recipe& recipe = loaded.recipe;
  communicator.set_timeout(collective_timeout(recipe.parallel));

  choose_kernels(recipe, context.device);
  DataPart& part = loaded.part;
  open_part(loaded, request, context);
  make_loader(part, recipe, context.registries,
              batch_size_of(loaded, request, communicator.world_size()), data::Split::kVal,
              data_place(recipe, communicator, context.num_threads, context.device));
  comm::agree(communicator, {{"validation data", describe(*part.dataset)}});
  part.loader->start();
  load_network(loaded, context);
  return loaded;
}

}  // namespace paceline::app
