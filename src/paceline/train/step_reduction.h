#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/device.h"
#include "paceline/train/train_state.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace paceline::train {

/// What one rank tells the others in a step.
struct StepFlags {
  bool wants_stop = false;
  bool misses_gradients = false;
  bool lacks_next_batch = false;  ///< which is still being read
};

/// How many numbers of each kind a step adds up.
struct StepSums {
  std::int64_t metrics = 0;  ///< as Task::sums()
  std::int64_t scalars = 0;  ///< as Engine::scalars()
};

/// The one small reduction of a step: loss, numbers of samples, the sums of metrics, scalars, and
/// flags, in float64. Whether ranks communicate in a step is decided by what it tells all of them.
/// It lies on the run's device: nothing is known on the host before read(), the one wait of a step
/// where work is queued.
class StepReduction {
 public:
  /// Communicator and device must outlive it.
  StepReduction(comm::Communicator& communicator, const StepSums& sums,
                tensor::Device& device = tensor::cpu_device());

  /// Samples of this rank's batch, and how many others could not be read.
  void add_batch(std::int64_t samples, std::size_t skipped);
  /// Adds one microbatch of this rank, by tensors on the device: a scalar, and Task::sums()
  /// (undefined if there are none). A loss that is not finite is noticed here. May be
  /// recorded and replayed.
  void add(const at::Tensor& loss_sum, const at::Tensor& sums);

  /// Of this rank: a float32 scalar on the device, 1 if the step must not be applied on any rank.
  void ask_to_skip(const at::Tensor& flag);

  /// Every rank must call it once a step. After the last microbatch's backward and before the
  /// gradients are waited for its wait is part of theirs. `scalars` are this rank's.
  void start(const StepFlags& own, std::span<const double> scalars = {});
  /// Waits for the other ranks; where work is queued, has what follows wait there.
  void finish();

  /// 1 if the step must not be applied: a rank asked for that, or the loss, the gradients
  /// (`overflows`, if it is defined) or their norm (likewise) is not finite, or a rank misses
  /// gradients. A float32 scalar on the device, or undefined where it is known to be 0. After
  /// finish().
  at::Tensor must_skip(const at::Tensor& overflows, const at::Tensor& grad_norm);

  /// Waits for the device, and makes sure that the sums are sums; leaves the reduction empty for
  /// the next step. What follows is known then.
  void read();

  const Totals& totals() const { return totals_; }
  bool any_not_finite() const { return any_not_finite_; }
  bool any_wants_stop() const { return any_wants_stop_; }
  bool any_misses_gradients() const { return any_misses_gradients_; }
  bool any_lacks_next_batch() const { return any_lacks_next_batch_; }
  bool overflows() const { return overflows_; }  ///< of fp16
  bool any_asks_to_skip() const { return any_asks_to_skip_; }
  bool is_skipped() const { return is_skipped_; }
  /// If it was asked for.
  std::optional<double> grad_norm() const { return grad_norm_; }

 private:
  at::Tensor range(std::int64_t begin, std::int64_t end) const;
  std::int64_t first_scalar() const;
  std::int64_t first_found() const;  ///< behind what is added up

  comm::Communicator& communicator_;
  tensor::Device& device_;
  std::int64_t num_sums_;
  std::int64_t num_scalars_;
  at::Tensor values_;   ///< on the device; what stands where is told in the source
  at::Tensor told_;     ///< the first of them, in host memory: values_ itself if that lies there
  at::Tensor scalars_;  ///< likewise those of this rank, by its samples
  std::unique_ptr<comm::Work> work_;
  Totals totals_;
  bool has_grad_norm_ = false;
  bool any_not_finite_ = false;
  bool any_wants_stop_ = false;
  bool any_misses_gradients_ = false;
  bool any_lacks_next_batch_ = true;  ///< before the first step nothing is known
  bool overflows_ = false;
  bool any_asks_to_skip_ = false;
  bool is_skipped_ = false;
  std::optional<double> grad_norm_;
};

}  // namespace paceline::train
