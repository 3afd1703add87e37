#pragma once

#include "paceline/tensor/aten.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paceline::parallel {

class Strategy;  // parallel/strategy.h

/// The sum of squares of each row of [rows, n], taken in float32 (float64 for float64): float64
/// [rows].
at::Tensor squares_of_rows(const at::Tensor& rows);

/// Euclidean norm over flat tensors [n], in one pass. Sums of squares are taken in float32 (float64
/// for float64) over runs of 1024 elements, which keeps the error below 1e-6 however many there
/// are, and in float64 over the runs; the result does not depend on the number of threads. A
/// float64 scalar beside the tensors, of which there must be one.
at::Tensor flat_norm(std::span<const at::Tensor> flats);

/// What torch.nn.utils.clip_grad_norm_ multiplies gradients by: min(1, max_norm / (norm + 1e-6)), a
/// float64 scalar beside the norm; 1 for a norm that is not finite, which is for the caller to see.
at::Tensor clip_factor(const at::Tensor& norm, double max_norm);

/// Multiplies by clip_factor(). Does not wait for a device.
void scale_to_norm(std::span<const at::Tensor> flats, const at::Tensor& norm, double max_norm);

/// The Euclidean norm of a strategy's gradients over all shards, step by step. On the host it is
/// summed by parameter, so that its bits hang neither on threads nor on where gradients lie; on a
/// device by flat_norm().
class GradientNorm {
 public:
  /// `watches`: squares are taken as soon as backward has made a gradient, while it is in a cache,
  /// where the strategy lets it be watched. For who asks in every step. The strategy is prepared
  /// and must outlive this.
  explicit GradientNorm(Strategy& strategy, bool watches = false);
  ~GradientNorm();
  GradientNorm(const GradientNorm&) = delete;
  GradientNorm& operator=(const GradientNorm&) = delete;

  /// Of the gradients as they are after Strategy::finish_gradients(): a float64 scalar beside them.
  /// Every rank must call it. Does not wait for a device.
  at::Tensor take();

 private:
  struct Piece {
    at::Tensor grad;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::size_t parameter = 0;
  };
  at::Tensor own_squares();

  Strategy& strategy_;
  std::vector<Piece> pieces_;    // on the host
  std::vector<double> squares_;  // by parameter
  bool is_watching_ = false;
};

}  // namespace paceline::parallel
