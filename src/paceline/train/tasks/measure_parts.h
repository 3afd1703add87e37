#pragma once

#include "paceline/nn/losses.h"
#include "paceline/train/eval_measure.h"
#include "paceline/train/tasks/gathered_scores.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::train {

/// What is measured of a batch's samples, beside the network.
struct Told {
  at::Tensor logits;   ///< [n, classes]
  at::Tensor labels;   ///< int64 [n]; undefined where a sample may be of several classes
  at::Tensor targets;  ///< as targets_of()

  /// Whether there is something to tell of each sample, bool [n]; undefined: of all.
  at::Tensor counted() const { return labels.defined() ? labels.ge(0) : at::Tensor(); }
  /// Of which classes each sample is, where it may be of several: bool [n, classes].
  at::Tensor wanted() const { return targets.gt(0.5); }
};

/// Metrics of an evaluation that are made of the same.
class MeasurePart {
 public:
  MeasurePart() = default;
  MeasurePart(const MeasurePart&) = delete;
  MeasurePart& operator=(const MeasurePart&) = delete;
  virtual ~MeasurePart() = default;

  /// Talks to no other rank.
  virtual void add(const Told& told) = 0;
  /// Puts its values among the others. Every rank must call it.
  virtual void finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) = 0;
};

/// Several parts, by what this reads of a batch.
class MeasureOfParts final : public EvalMeasure {
 public:
  using Read = Told (*)(const tensor::Fields& outputs, const Batch& batch);
  MeasureOfParts(Read read, std::vector<std::unique_ptr<MeasurePart>> parts)
      : read_(read), parts_(std::move(parts)) {}

  void add(const tensor::Fields& outputs, const Batch& batch) override;
  Measured finish(comm::Communicator& communicator) override;

 private:
  Read read_;
  std::vector<std::unique_ptr<MeasurePart>> parts_;
};

/// Sums that are zeros at first; ranks without samples learn from others how many there are.
class SumsOverRanks {
 public:
  /// Takes the tensor over.
  void add(const at::Tensor& sums) { sums_ = sums_.defined() ? sums_.add_(sums) : sums; }

  /// In host memory, over all ranks: as often as there are columns of these many rows. Every rank
  /// must call it.
  at::Tensor over_ranks(comm::Communicator& communicator, std::int64_t rows,
                        at::ScalarType dtype) const;

 private:
  at::Tensor sums_;
};

inline constexpr std::string_view kAuroc = "auroc";
inline constexpr std::string_view kAveragePrecision = "average_precision";

/// Of these two those that are asked for: each class against the others, averaged.
class Rankings final : public MeasurePart {
 public:
  using Probabilities = at::Tensor (*)(const at::Tensor& logits);
  Rankings(std::vector<std::string> names, Probabilities probabilities)
      : names_(std::move(names)), probabilities_(probabilities) {}
  void add(const Told& told) override;
  void finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) override;

 private:
  std::vector<std::string> names_;
  Probabilities probabilities_;
  GatheredScores scores_;
};

/// The percent of `loss_p<percent>`, if the name is one.
std::optional<double> loss_percent(std::string_view name);

/// Percentiles of the samples' losses in evaluations, by such names.
class LossPercentiles final : public MeasurePart {
 public:
  /// The loss must outlive it.
  LossPercentiles(std::vector<std::string> names, const nn::Loss& loss)
      : names_(std::move(names)), loss_(loss.of_evaluation()) {}
  void add(const Told& told) override;
  void finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) override;

 private:
  std::vector<std::string> names_;
  const nn::Loss& loss_;
  std::vector<at::Tensor> losses_;
};

}  // namespace paceline::train
