#pragma once

#include "paceline/train/task.h"

namespace paceline::train {

/// Has a task evaluate; puts it back into training mode when it goes, also by an exception.
class EvaluationScope {
 public:
  explicit EvaluationScope(Task& task) : task_(task) { task_.set_training(false); }
  ~EvaluationScope() { task_.set_training(true); }
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  Task& task_;
};

}  // namespace paceline::train
