#include "paceline/app/evaluation/predict_run.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/evaluation/prediction_folder.h"
#include "paceline/app/evaluation/told_images.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/comm/agreement.h"
#include "paceline/nn/blocks/folded_conv.h"
#include "paceline/train/precision.h"
#include "paceline/train/predictor.h"

#include <algorithm>
#include <memory>
#include <string>
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

nlohmann::json facts_of(const LoadedCheckpoint& loaded, const PredictReport& report,
                        const std::string& weights) {
  return {{"checkpoint", loaded.path.string()},
          {"step", report.step},
          {"weights", weights.empty() ? nlohmann::json(nullptr) : nlohmann::json(weights)},
          {"data", describe(*loaded.part.dataset)},
          {"samples", report.samples},
          {"skipped", report.skipped},
          {"class_names", class_names_of(loaded)}};
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

void publish(PredictionFolder& folder, const LoadedCheckpoint& loaded, const PredictReport& report,
             const PredictRequest& request) {
  if (report.samples == 0)
    throw base::DataError(request.source.open_images
                              ? "there is no image that could be read, so nothing is written"
                              : "there is no sample to predict; check data.path and "
                                "train.eval_batches");
  if (report.skipped > 0 && !request.source.open_images)
    base::log_warning("{} of {} samples could not be read (data.on_error: skip): they have no row",
                      report.skipped, report.skipped + report.samples);
  folder.publish(facts_of(loaded, report, request.source.weights));
}

}  // namespace

std::optional<PredictReport> run_prediction(const PredictRequest& request,
                                            const SessionContext& context) {
  comm::Communicator& communicator = context.communicator;
  LoadedCheckpoint loaded = load_checkpoint_with_data(request.source, context);
  const bool is_of_images = static_cast<bool>(request.source.open_images);
  const auto max_batches = is_of_images ? std::nullopt : loaded.recipe.train.eval_batches;
  const std::int64_t expected = samples_in(*loaded.part.loader, max_batches);
  std::unique_ptr<PredictionFolder> folder;  // of rank 0
  comm::first_rank_decides(communicator, [&] {
    if (!request.output.empty())
      folder = std::make_unique<PredictionFolder>(context.files, request.output,
                                                  *loaded.part.dataset, expected);
    return "";
  });
  fold_norms(loaded, context.device);
  const std::vector<std::string> class_names = class_names_of(loaded);
  ToldImages told(request, *loaded.part.dataset, class_names);
  PredictReport report{loaded.path, loaded.step, 0, 0};
  train::Predictor predictor(*loaded.part.loader, max_batches,
                             is_of_images ? train::SkipLimit::kNone
                                          : max_skipped(loaded.recipe.data, *loaded.part.dataset));
  const bool is_complete = predictor.run(
      *loaded.state.task, *loaded.state.strategy, loaded.recipe.train.precision, loaded.step,
      evaluation_context(loaded.recipe, context), [&](const train::Predictions& predictions) {
        report.samples += std::ssize(predictions.indices);
        if (request.tell) told.add(predictions);
        if (folder && !predictions.fields.empty()) folder->add(predictions);
      });
  if (!is_complete) return std::nullopt;
  comm::first_rank_decides(communicator, [&] {
    report.skipped = expected - report.samples;
    if (folder) publish(*folder, loaded, report, request);
    return "";
  });
  return report;
}

}  // namespace paceline::app
