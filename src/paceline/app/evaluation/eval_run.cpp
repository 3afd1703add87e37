#include "paceline/app/evaluation/eval_run.h"

#include "paceline/app/evaluation/viewed_evaluation.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/tasks/volume/ct_diffusion.h"

#include <utility>

namespace paceline::app {
namespace {

/// What metrics of weights are called by; nothing for those that the run itself evaluates as val.
std::string called(const LoadedCheckpoint& loaded) {
  if (!loaded.reader) return {};
  const std::string& standing = loaded.reader->manifest().standing_weights;
  const bool is_usual =
      loaded.weights == (standing.empty() ? checkpoint::kTrainedWeights : standing);
  return is_usual ? std::string() : loaded.weights;
}

}  // namespace

std::optional<EvalReport> run_evaluation(const EvalRequest& request, const SessionContext& context,
                                         const EvalViews& views, std::int64_t num_told) {
  if (context.communicator.rank() == 0) {
    for (const std::string& line : describe(views)) base::log_info("{}", line);
  }
  ViewedEvaluation viewed(views, context.registries);
  LoadedCheckpoint loaded = load_checkpoint_with_data(viewed.adapted(request), context);
  const data::Dataset& dataset = *loaded.part.dataset;
  train::Evaluator evaluator(*loaded.part.loader, "val", loaded.recipe.train.eval_batches,
                             max_skipped(loaded.recipe.data, dataset));
  evaluator.tell_classes();
  evaluator.show_pictures();
  const std::unique_ptr<train::Task> other = viewed.make_task(loaded);
  train::Task& task = other ? *other : *loaded.state.task;
  std::optional<train::SampleRecorder> samples;
  std::optional<train::PatientRecorder> patients;
  if (const auto* of_classes = dynamic_cast<const train::ClassificationTask*>(&task);
      of_classes != nullptr && of_classes->tells_one_class()) {
    evaluator.show_to(samples.emplace(of_classes->loss_of_targets(), num_told));
  } else if (const auto* of_volumes = dynamic_cast<const train::CtDiffusion*>(&task)) {
    evaluator.show_to(patients.emplace(of_volumes->quality_names()));
  }
  const auto result =
      evaluator.run(task, *loaded.state.strategy, loaded.recipe.train.precision, loaded.step,
                    evaluation_context(loaded.recipe, context), called(loaded));
  if (!result) return std::nullopt;
  EvalReport report;
  report.checkpoint = loaded.path;
  report.step = loaded.step;
  report.weights = loaded.weights;
  report.class_names = dataset.class_names();
  report.result = *result;
  if (samples) report.samples = samples->records();
  if (patients) report.patients = patients->records();
  report.recipe = std::move(loaded.recipe);
  report.part = std::move(loaded.part);
  return report;
}

}  // namespace paceline::app
