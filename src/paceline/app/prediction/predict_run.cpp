#include "paceline/app/prediction/predict_run.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/prediction/picture_folder.h"
#include "paceline/app/prediction/prediction_folder.h"
#include "paceline/app/prediction/told_images.h"
#include "paceline/app/prediction/volume_folder.h"
#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/log.h"
#include "paceline/comm/agreement.h"
#include "paceline/nn/blocks/folded_conv.h"
#include "paceline/train/precision.h"
#include "paceline/train/predictor.h"
#include "paceline/train/tasks/volume/ct_diffusion.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace paceline::app {
namespace {

/// How many samples a number of batches has.
std::int64_t samples_in(const data::DataLoader& loader, std::optional<std::int64_t> max_batches) {
  const std::int64_t all = loader.batches_per_epoch();
  std::int64_t samples = 0;
  for (std::int64_t i = 0; i < std::min(all, max_batches.value_or(all)); ++i)
    samples += loader.global_count_of(i);
  return samples;
}

/// Images have no classes of their own.
std::vector<std::string> class_names_of(const LoadedCheckpoint& loaded) {
  auto names = loaded.part.dataset->class_names();
  return names.empty() ? loaded.class_names : names;
}

/// Of a task that makes volumes; else null.
const train::CtDiffusion* maker_of_volumes(const LoadedCheckpoint& loaded) {
  return dynamic_cast<const train::CtDiffusion*>(loaded.state.task.get());
}

nlohmann::json facts_of(const LoadedCheckpoint& loaded, const PredictReport& report) {
  nlohmann::json facts = {{"checkpoint", loaded.path.string()},
                          {"step", report.step},
                          {"weights", loaded.weights.empty() ? nlohmann::json(nullptr)
                                                             : nlohmann::json(loaded.weights)},
                          {"data", describe(*loaded.part.dataset)},
                          {"samples", report.samples},
                          {"skipped", report.skipped}};
  if (const auto* const volumes = maker_of_volumes(loaded)) {
    facts["seed"] = loaded.recipe.run.seed;
    facts.update(facts_of_volumes(*volumes, *loaded.part.dataset));
  } else {
    facts["class_names"] = class_names_of(loaded);
  }
  return facts;
}

/// Where what the task gives out is written.
std::unique_ptr<PredictionSink> make_sink(const LoadedCheckpoint& loaded,
                                          const PredictRequest& request, std::int64_t expected,
                                          const SessionContext& context) {
  if (maker_of_volumes(loaded) != nullptr)
    return std::make_unique<VolumeFolder>(context.files, request.output, *loaded.part.dataset,
                                          context.num_threads);
  return std::make_unique<PredictionFolder>(context.files, request.output, *loaded.part.dataset,
                                            expected);
}

/// A folder that was begun cannot get its name where something else wrote there.
void refuse_pictures_in_output(const PredictRequest& request) {
  if (!base::lies_in(request.pictures, request.output)) return;
  throw base::ConfigError(
      fmt::format("--pictures {}: lies in the folder that -o {} is to make; name one beside it",
                  request.pictures.string(), request.output.string()));
}

/// What is written; on other ranks than the first nothing.
struct Outputs {
  std::unique_ptr<PredictionSink> sink;
  std::unique_ptr<PictureFolder> pictures;

  void add(const train::Predictions& predictions) const {
    if (predictions.fields.empty()) return;
    if (sink) sink->add(predictions);  // which refuses what is no volume
    if (pictures) pictures->add(predictions);
  }
};

Outputs make_outputs(const LoadedCheckpoint& loaded, const PredictRequest& request,
                     std::int64_t expected, const SessionContext& context) {
  const train::CtDiffusion* const volumes = maker_of_volumes(loaded);
  if (volumes != nullptr && request.output.empty())
    throw base::ConfigError("the network makes volumes: name a folder for them, -o OUT");
  Outputs outputs;
  comm::first_rank_decides(context.communicator, [&] {
    const bool has_pictures = volumes != nullptr && !request.pictures.empty();
    if (has_pictures) refuse_pictures_in_output(request);
    if (!request.output.empty()) outputs.sink = make_sink(loaded, request, expected, context);
    if (has_pictures)
      outputs.pictures = std::make_unique<PictureFolder>(
          context.files, request.pictures, *volumes, *loaded.part.dataset, context.device.place());
    return "";
  });
  return outputs;
}

/// What the run's task cannot show is said before anything is opened.
EvalRequest source_of(const PredictRequest& request) {
  EvalRequest source = request.source;
  if (request.pictures.empty()) return source;
  source.adapt = [before = std::move(source.adapt)](Recipe& recipe) {
    if (before) before(recipe);
    if (recipe.task.name == config::Schema<train::CtDiffusionConfig>::name) return;
    throw base::ConfigError(fmt::format(
        "--pictures: task {} shows none of its predictions; leave it out", recipe.task.name));
  };
  return source;
}

/// Convolutions take in the norms behind them, where the CPU computes both as one and the weights
/// are whole: the same numbers but for rounding, in less time.
void fold_norms(LoadedCheckpoint& loaded, const tensor::Device& device) {
  const Recipe& recipe = loaded.recipe;
  const train::Precision precision = recipe.train.precision;
  const at::ScalarType dtype =
      train::autocast_dtype(precision).value_or(train::storage_dtype(precision));
  const bool is_known = dtype == at::kFloat || dtype == at::kBFloat16;
  if (!is_known || !device.place().is_cpu() || gathers_blocks(recipe.parallel.strategy)) return;
  nn::fold_norms(loaded.state.task->network(), dtype);
}

void publish(PredictionSink& sink, const LoadedCheckpoint& loaded, const PredictReport& report) {
  if (report.samples == 0)
    throw base::DataError(loaded.is_own
                              ? "there is no sample to predict; check data.path and "
                                "train.eval_batches"
                              : "there is no image that could be read, so nothing is written");
  if (report.skipped > 0 && loaded.is_own)
    base::log_warning("{} of {} samples could not be read (data.on_error: skip): they have no row",
                      report.skipped, report.skipped + report.samples);
  sink.publish(facts_of(loaded, report));
}

}  // namespace

std::optional<PredictReport> run_prediction(const PredictRequest& request,
                                            const SessionContext& context) {
  comm::Communicator& communicator = context.communicator;
  LoadedCheckpoint loaded = load_checkpoint_with_data(source_of(request), context);
  const auto max_batches = loaded.is_own ? loaded.recipe.train.eval_batches : std::nullopt;
  const std::int64_t expected = samples_in(*loaded.part.loader, max_batches);
  const Outputs outputs = make_outputs(loaded, request, expected, context);
  fold_norms(loaded, context.device);
  const std::vector<std::string> class_names = class_names_of(loaded);
  const bool tells = request.tell && loaded.part.pipeline != nullptr;  // of images
  ToldImages told(request, *loaded.part.dataset, class_names);
  PredictReport report{.checkpoint = loaded.path, .step = loaded.step};
  train::Predictor predictor(*loaded.part.loader, max_batches,
                             loaded.is_own ? max_skipped(loaded.recipe.data, *loaded.part.dataset)
                                           : train::SkipLimit::kNone);
  if (!request.pictures.empty()) predictor.add_inputs(PictureFolder::inputs());
  const bool is_complete = predictor.run(
      *loaded.state.task, *loaded.state.strategy, loaded.recipe.train.precision, loaded.step,
      evaluation_context(loaded.recipe, context), [&](const train::Predictions& predictions) {
        report.samples += std::ssize(predictions.indices);
        if (tells) told.add(predictions);
        outputs.add(predictions);
      });
  if (!is_complete) return std::nullopt;
  comm::first_rank_decides(communicator, [&] {
    report.skipped = expected - report.samples;
    if (outputs.sink) publish(*outputs.sink, loaded, report);
    return "";
  });
  return report;
}

}  // namespace paceline::app
