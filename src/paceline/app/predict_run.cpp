#include "paceline/app/predict_run.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/prediction_folder.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/comm/agreement.h"
#include "paceline/train/predictor.h"

#include <algorithm>
#include <memory>

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

nlohmann::json facts_of(const LoadedCheckpoint& loaded, const PredictReport& report,
                        const std::string& weights) {
  return {{"checkpoint", loaded.path.string()},
          {"step", report.step},
          {"weights", weights.empty() ? nlohmann::json(nullptr) : nlohmann::json(weights)},
          {"data", describe(*loaded.part.dataset)},
          {"samples", report.samples},
          {"skipped", report.skipped},
          {"class_names", loaded.part.dataset->class_names()}};
}

}  // namespace

std::optional<PredictReport> run_prediction(const PredictRequest& request,
                                            const SessionContext& context) {
  comm::Communicator& communicator = context.communicator;
  LoadedCheckpoint loaded = load_checkpoint_with_data(request.source, context);
  const std::optional<std::int64_t> max_batches = loaded.recipe.train.eval_batches;
  const std::int64_t expected = samples_in(*loaded.part.loader, max_batches);
  std::unique_ptr<PredictionFolder> folder;  // of rank 0
  comm::first_rank_decides(communicator, [&] {
    folder = std::make_unique<PredictionFolder>(context.files, request.output, *loaded.part.dataset,
                                                expected);
    return "";
  });
  train::Predictor predictor(*loaded.part.loader, max_batches,
                             max_skipped(loaded.recipe.data, *loaded.part.dataset));
  const bool is_complete =
      predictor.run(*loaded.state.task, *loaded.state.strategy, loaded.recipe.train.precision,
                    loaded.step(), evaluation_context(loaded.recipe, context),
                    [&](const train::Predictions& predictions) { folder->add(predictions); });
  if (!is_complete) return std::nullopt;
  PredictReport report{loaded.path, loaded.step(), 0, 0};
  comm::first_rank_decides(communicator, [&] {
    report.samples = folder->num_rows();
    report.skipped = expected - report.samples;
    if (report.samples == 0)
      throw base::DataError(
          "there is no sample to predict; check data.path and train.eval_batches");
    if (report.skipped > 0)
      base::log_warning(
          "{} of {} samples could not be read (data.on_error: skip): they have no row",
          report.skipped, expected);
    folder->publish(facts_of(loaded, report, request.source.weights));
    return "";
  });
  return report;
}

}  // namespace paceline::app
