#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/metrics/class_counts.h"
#include "paceline/tensor/fields.h"
#include "paceline/train/batch/batch.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace paceline::train {

/// What an evaluation tells of classes.
struct ClassTable {
  std::vector<metrics::ClassCount> classes;
  /// metrics::count_confusions(), where there are few enough classes; else undefined.
  at::Tensor confusions;
};

/// What an evaluation measures besides the sums of its task, each sample counted once whatever the
/// number of ranks.
class EvalMeasure {
 public:
  EvalMeasure() = default;
  EvalMeasure(const EvalMeasure&) = delete;
  EvalMeasure& operator=(const EvalMeasure&) = delete;
  virtual ~EvalMeasure() = default;

  /// Of a batch that has samples, what the task's evaluate() gave out. Talks to no other rank.
  virtual void add(const tensor::Fields& outputs, const Batch& batch) = 0;

  struct Measured {
    std::map<std::string, double> values;  ///< by Task::eval_metrics(); NaN where undefined
    std::optional<ClassTable> table;
  };
  /// After the last batch, the same on all ranks. Every rank must call it.
  virtual Measured finish(comm::Communicator& communicator) = 0;
};

}  // namespace paceline::train
