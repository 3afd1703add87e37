#include "paceline/app/eval_run.h"

#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/checkpoint/weights/weights.h"

#include <nlohmann/json.hpp>

namespace paceline::app {

std::optional<EvalReport> run_evaluation(const EvalRequest& request,
                                         const SessionContext& context) {
  LoadedCheckpoint loaded = load_checkpoint_with_data(request, context);
  const data::Dataset& dataset = *loaded.part.dataset;
  train::Evaluator evaluator(*loaded.part.loader, "val", loaded.recipe.train.eval_batches,
                             max_skipped(loaded.recipe.data, dataset));
  evaluator.tell_classes();
  const auto result =
      evaluator.run(*loaded.state.task, *loaded.state.strategy, loaded.recipe.train.precision,
                    loaded.step(), evaluation_context(loaded.recipe, context), request.weights);
  if (!result) return std::nullopt;
  return EvalReport{loaded.path, loaded.step(), dataset.class_names(), *result};
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
