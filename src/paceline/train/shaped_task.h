#pragma once

#include "paceline/data/dataset/field.h"
#include "paceline/nn/pass_memory/shaped_pass.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paceline::train {

/// What a publication says of training the same on GPUs, to be compared with.
struct PublishedTraining {
  std::string source;
  std::int64_t batch_per_rank = 0;
  double bytes = 0;  ///< of memory on each rank
  double minutes_per_epoch = 0;
  std::int64_t samples = 0;  ///< of an epoch
  int ranks = 0;

  double samples_per_second_and_rank() const {
    return static_cast<double>(samples) / (minutes_per_epoch * 60) / ranks;
  }
};

/// What a task is besides a Task if the memory of its training passes follows from shapes, so that
/// it is known where no such pass could run.
class ShapedTask {
 public:
  ShapedTask() = default;
  ShapedTask(const ShapedTask&) = delete;
  ShapedTask& operator=(const ShapedTask&) = delete;
  virtual ~ShapedTask() = default;

  /// Of a training sample, by what its network takes.
  virtual std::vector<data::FieldSpec> sample_fields() const = 0;
  /// The most bytes that forward(), loss() and their backward pass hold besides batch and state.
  virtual std::int64_t pass_bytes(const nn::PassOptions& options) const = 0;
  virtual std::optional<PublishedTraining> published() const { return std::nullopt; }
};

}  // namespace paceline::train
