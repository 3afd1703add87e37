#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/parallel/missing_gradients.h"
#include "paceline/parallel/replicated/ddp_config.h"
#include "paceline/tensor/aten.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace paceline::parallel {

/// Which parameters get gradients, and which must. Parameters are numbered by their slots.
///
/// By default all must, in every step. Under allow_unused_parameters each step may use others.
/// Under static_graph the first step shows which get none: those are known to be unused, later
/// steps need not wait for them, and a step in which others get none, or these do get one, is an
/// error.
class UsedParameters {
 public:
  /// `section` of the recipe is for messages; `device` is the communicator's. A null communicator
  /// is one rank.
  UsedParameters(const DdpConfig& config, std::string_view section, std::size_t num_slots,
                 at::Device device, comm::Communicator* communicator);

  /// Those that this rank need not wait for, none before the first step has shown them.
  const std::vector<std::size_t>& known_unused() const { return known_unused_; }
  bool is_known_unused(std::size_t slot) const { return is_known_unused_[slot] != 0; }

  /// Whether this step may leave parameters without gradients that are not known to be unused.
  bool allows_missing() const {
    return rule_ == Rule::kAny || (rule_ == Rule::kAsFirst && !is_known_);
  }
  GradientDemand demand() const { return {section_, rule_ == Rule::kAsFirst}; }

  /// Starts to ask the other ranks which parameters got no gradient of theirs either, unless that
  /// is known or no matter. `untouched`: those that got none on this rank; `had_backward`: whether
  /// it had samples, without which it shows nothing. Collective, after all sums were started.
  void start_exchange(std::span<const std::size_t> untouched, bool had_backward);
  /// Waits for the answer; on a device that queues its work, has what follows wait for it there.
  /// Collective.
  void finish_exchange();
  /// Those of which, after finish_exchange(), may hold that no rank had a gradient for them.
  const std::vector<std::size_t>& maybe_unused() const { return maybe_unused_; }
  /// A bool scalar on the device: whether a rank had a gradient for one of these after all.
  at::Tensor is_used(std::size_t slot) const;
  /// Those that no rank had a gradient for. Waits for the device unless that was done.
  std::vector<std::size_t> unused() const;

 private:
  enum class Rule { kAll, kAny, kAsFirst };
  std::vector<std::size_t> read_unused() const;

  Rule rule_;
  std::string_view section_;  // of a literal
  at::Device device_;
  comm::Communicator* communicator_;
  bool is_known_ = false;
  std::vector<std::size_t> known_unused_;
  std::vector<char> is_known_unused_;  // of each slot
  std::vector<std::size_t> untouched_;
  bool had_backward_ = false;
  at::Tensor is_used_;  // [slots + 1], bool: the last says that a rank had no samples
  std::unique_ptr<comm::Work> exchange_;
  std::vector<std::size_t> maybe_unused_;
  bool is_exact_ = true;  // what it holds is unused
};

}  // namespace paceline::parallel
