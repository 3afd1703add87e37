#include "paceline/app/eval_run.h"

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

}  // namespace paceline::app
