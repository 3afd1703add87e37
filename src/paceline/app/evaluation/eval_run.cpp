#include "paceline/app/evaluation/eval_run.h"

#include "paceline/app/evaluation/viewed_evaluation.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/train/tasks/classification.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::app {

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
  const std::unique_ptr<train::Task> other = viewed.make_task(loaded);
  train::Task& task = other ? *other : *loaded.state.task;
  std::optional<train::SampleRecorder> recorder;
  if (const auto* of_classes = dynamic_cast<const train::ClassificationTask*>(&task)) {
    recorder.emplace(of_classes->loss_of_targets(), num_told);
    evaluator.show_to(*recorder);
  }
  const auto result =
      evaluator.run(task, *loaded.state.strategy, loaded.recipe.train.precision, loaded.step(),
                    evaluation_context(loaded.recipe, context), request.weights);
  if (!result) return std::nullopt;
  EvalReport report{loaded.path, loaded.step(), dataset.class_names(), *result, {}, {}, {}};
  if (recorder) report.samples = recorder->records();
  report.recipe = std::move(loaded.recipe);
  report.part = std::move(loaded.part);
  return report;
}

ExportReport export_checkpoint(const std::filesystem::path& run_or_checkpoint,
                               const std::string& weights, const std::filesystem::path& output,
                               base::FileSystem& files) {
  checkpoint::CheckpointReader reader(find_checkpoint(run_or_checkpoint));
  reader.verify();
  const auto tensors = checkpoint::model_tensors(reader, weights);
  const checkpoint::Manifest& manifest = reader.manifest();
  checkpoint::Metadata metadata{{"step", std::to_string(manifest.step)}};
  if (!manifest.class_names.empty())
    metadata[std::string(checkpoint::kClassNamesKey)] = nlohmann::json(manifest.class_names).dump();
  const auto surgery = manifest.surgery.value_or(checkpoint::SurgeryRecord());
  if (!surgery.empty())
    metadata[std::string(checkpoint::kSurgeryKey)] = surgery_to_json(surgery).dump();
  checkpoint::export_weights(files, output, tensors, metadata);
  return {reader.directory(), manifest.step, manifest.monitored, surgery};
}

}  // namespace paceline::app
