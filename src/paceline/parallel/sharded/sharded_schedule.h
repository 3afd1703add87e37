#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/parallel/gradient_hooks.h"
#include "paceline/parallel/sharded/sharded_gate.h"
#include "paceline/parallel/sharded/sharded_layout.h"
#include "paceline/parallel/sharded/sharding_plan.h"
#include "paceline/tensor/fwd.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace paceline::parallel {

struct ScheduleOptions {
  KeepFull keep_full = KeepFull::kUntilForwardEnds;
  std::size_t prefetch = 1;  ///< units that are gathered ahead of the one at work
  /// Microbatches add up whole gradients, which are reduced with the last one's.
  bool accumulates_full_gradients = false;
};

/// When the units of a layout are gathered, freed and reduced: it follows forward and backward
/// passes through gates around the blocks and hooks on the parameters.
///
/// The order of collectives depends on the layout and on the blocks that run, not on which of their
/// parameters get gradients. All ranks must call the same functions in the same order.
class ShardedSchedule final : private BlockObserver {
 public:
  /// Sums that lie in memory unreduced while backward goes on.
  static constexpr std::size_t kMostReductionsInFlight = 2;

  /// Gradients are summed over the ranks of a copy of the state and then, unless it is null, over
  /// `replicas`. Both arguments must outlive this.
  ShardedSchedule(const ShardedLayout& layout, const ScheduleOptions& options,
                  comm::Communicator* replicas);
  ~ShardedSchedule() override;
  ShardedSchedule(const ShardedSchedule&) = delete;
  ShardedSchedule& operator=(const ShardedSchedule&) = delete;

  const ScheduleOptions& options() const { return options_; }

  /// Between two steps: parameters require gradients, or do so no more. The same on all ranks.
  void follow_trainable();

  // As in Strategy.
  void begin_microbatch(bool is_first, bool is_last);
  void backward(const at::Tensor& loss, double weight);
  void backward_nothing();
  void finish_gradients();
  void forward_nothing();

  /// Gathers what lies in no block, for forward passes, and starts the first block. Gives the
  /// seconds that it waited.
  double gather_root();
  /// Gathers all units, which stay until release_all(): nothing is gathered or freed meanwhile.
  void hold_all();
  void release_all();
  /// The shards changed, or are about to: what was gathered counts no longer.
  void expire();

  /// Trained parameters that got no gradient on this rank in this step; none of a rank without
  /// samples, which shows nothing.
  std::vector<std::string> without_gradient() const;
  /// As Strategy::exposed_communication_s().
  double exposed_s() const { return exposed_s_; }

 private:
  // What the gates tell; `block` is a number in units().
  void begin_forward(std::size_t block) override;
  void end_forward(std::size_t block) override;
  void begin_backward(std::size_t block) override;
  void end_backward(std::size_t block) override;

  void wrap_blocks();
  /// Whether passes of the whole network leave out all of a block.
  bool is_idle(std::size_t block) const;
  /// From this one on those that passes come to next, at most `count`.
  void start_gathers(std::size_t block, std::size_t count);
  ShardUnit& unit(std::size_t number) const { return *layout_.units()[number]; }
  void take_gradient(std::size_t parameter, at::Tensor& grad);
  void start_complete_reductions();
  void finish_oldest_reduction();
  void end_pass();
  /// Whether this pass ends with a reduction.
  bool reduces_now() const { return !options_.accumulates_full_gradients || is_last_microbatch_; }

  const ShardedLayout& layout_;
  ScheduleOptions options_;
  comm::Communicator* replicas_;
  std::vector<std::shared_ptr<ShardGate>> gates_;

  bool holds_all_ = false;
  bool is_in_microbatch_ = false;
  bool is_last_microbatch_ = false;
  bool is_first_reduction_ = false;  // of this step: it overwrites
  bool had_backward_ = false;        // in this step
  std::vector<char> is_trained_;     // of each of layout_.trained(): not frozen meanwhile
  std::vector<char> had_gradient_;   // likewise, in this step
  /// Of each block, whether backward comes to it: not below the first trained parameter. What the
  /// last pass showed; before that, what the order of registration suggests.
  std::vector<char> has_backward_;
  std::vector<char> is_reached_;  // of each block, in this backward
  std::size_t next_reduction_ = 0;
  std::deque<ShardUnit*> in_flight_;
  std::vector<std::unique_ptr<comm::Work>> replica_sums_;
  double exposed_s_ = 0;
  GradientHooks hooks_;
};

}  // namespace paceline::parallel
