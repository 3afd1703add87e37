#pragma once

#include "paceline/app/evaluation/eval_views.h"
#include "paceline/app/loaded_checkpoint.h"
#include "paceline/train/task.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace paceline::app {

/// What EvalViews change of an evaluation: the transforms, the samples, the labels and the logits.
class ViewedEvaluation {
 public:
  /// Both must outlive it.
  ViewedEvaluation(const EvalViews& views, const Registries& registries)
      : views_(views), registries_(registries) {}

  /// The request with these changes, which refer to this object.
  EvalRequest adapted(EvalRequest request);

  /// A task of the recipe whose logits are by the views, over the network that was loaded; null if
  /// its own will do. Throws ConfigError unless it is a classification.
  std::unique_ptr<train::Task> make_task(LoadedCheckpoint& loaded) const;

 private:
  std::unique_ptr<data::Dataset> map_classes(std::unique_ptr<data::Dataset> dataset,
                                             const std::vector<std::string>& class_names);

  const EvalViews& views_;
  const Registries& registries_;
  /// Of a class map, once the data are open.
  std::vector<std::vector<std::int64_t>> model_classes_;
};

}  // namespace paceline::app
