#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/optim/param_groups.h"
#include "paceline/parallel/communication_report.h"
#include "paceline/parallel/gradient_hooks.h"
#include "paceline/parallel/missing_gradients.h"
#include "paceline/parallel/named_tensors.h"
#include "paceline/parallel/replicated/bucket_reducer.h"
#include "paceline/parallel/replicated/ddp_config.h"
#include "paceline/parallel/replicated/gradient_compression.h"
#include "paceline/parallel/replicated/gradient_places.h"
#include "paceline/parallel/replicated/used_parameters.h"
#include "paceline/tensor/arena.h"
#include "paceline/tensor/state_shard.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::parallel {

/// Who looks at a slot's gradient, in the sizes and strides of its parameter.
using GradientSight = std::function<void(std::size_t slot, const at::Tensor& gradient)>;

/// The gradients of a model that every rank holds whole, laid out in buckets that are summed over
/// the ranks while backward still runs.
///
/// A sum is: begin(), then one or more backward passes. In the last of them, after
/// begin_backward(), each gradient is marked ready once this rank's share of it lies in its slot,
/// and a bucket's reduction starts the moment it is full; start_rest(), start_exchange() and
/// finish() end it. What got no gradient on this rank counts as zeros. Parameters that require no
/// gradient any more take no part. All ranks must call the same in the same order.
class BucketedGradients {
 public:
  /// Lays out gradients of zeros for `parameters`, in groups by `rules`, and hooks on to the
  /// parameters: `handler` is given each gradient that backward completes, by the number of its
  /// slot. `section` of the recipe (a literal) is for messages. `config` and `communicator`, null
  /// on one rank, must outlive this. Collective. Throws ConfigError if the ranks' models differ.
  BucketedGradients(std::span<const NamedTensor> parameters,
                    std::span<const optim::GroupRule> rules, const DdpConfig& config,
                    std::string_view section, comm::Communicator* communicator,
                    const GradientHandler& handler);

  /// All gradients, each once, in flat tensors that are the same for good.
  const std::vector<at::Tensor>& flats() const;
  /// What an optimizer reads, which may lie elsewhere than in the arena.
  const GradientPlaces& places() const { return places_; }
  std::uint64_t arena_bytes() const;
  const tensor::FlatLayout& layout() const { return gradients_.layout(); }
  /// In the order of layout().slots.
  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  /// Has `see` be called with each trained slot's gradient when it is this rank's whole share of a
  /// sum that ends.
  void watch(GradientSight see) { see_ = std::move(see); }
  bool is_watched() const { return see_ != nullptr; }

  /// Between two sums: parameters require gradients, or do so no more. What requires none is zeros
  /// that no sum waits for. The same on all ranks.
  void follow_trainable();

  /// A new sum: no slot has a gradient.
  void begin();
  /// The backward pass begins that ends the sum: what is known to get no gradient is not waited
  /// for.
  void begin_backward();
  /// Whether a slot is ready.
  bool has_ready() const { return !reducer_.ready_order().empty(); }
  bool is_ready(std::size_t slot) const { return reducer_.is_ready(slot); }

  /// Whether a gradient of this slot breaks the rule that none comes; it is then remembered.
  bool refuses(std::size_t slot);
  /// Where this rank's share of a gradient belongs: no view in autograd's sense.
  at::Tensor& share(std::size_t slot) { return places_.share(slot); }
  /// Puts a gradient into its slot, or adds it to what this sum has there, unless it refuses it;
  /// with `is_final` the slot then holds this rank's whole share.
  void take(std::size_t slot, const at::Tensor& grad, bool is_final);
  /// The slot holds this rank's whole share.
  void mark_ready(std::size_t slot);
  /// Instead of a backward pass, or after passes that no sum ends: what has no gradient yet is
  /// zeros. With `is_ready` all is ready.
  void take_zeros(bool is_ready);

  /// Backward is over: starts the sums that are left. `had_backward`: whether this rank had samples
  /// in any pass; without, it shows nothing of which parameters are used.
  void start_rest(bool had_backward);
  /// Then starts to ask the other ranks what got no gradient of theirs either.
  void start_exchange(bool had_backward) { used_.start_exchange(untouched_, had_backward); }
  /// Waits for all of it; on a device that queues its work, has what follows wait for it there.
  /// Throws CommError.
  void finish();

  /// Slots that got no gradient on this rank, in order; after start_rest().
  std::span<const std::size_t> untouched() const { return untouched_; }
  const UsedParameters& used() const { return used_; }

  /// After start_rest(): parameters that got, or did not get, a gradient on this rank against the
  /// rule.
  MissingGradients missing() const { return {refused_, used_.demand()}; }

  /// What a resumed run needs of compressed gradients; none without. Views.
  std::vector<tensor::StateShard> compression_state() const;
  /// Of the last sum.
  CommunicationReport report() const { return reducer_.report(); }
  /// Seconds that its finish() waited for the network.
  double exposed_s() const { return reducer_.exposed_s(); }

 private:
  enum class Share : char { kNone, kZeros, kOfBackward };

  void add(std::size_t slot, const at::Tensor& grad);
  void zero_if_missing(std::size_t slot);
  void show(std::size_t slot);
  void show_rest();

  tensor::Arena gradients_;
  std::vector<NamedTensor> parameters_;
  GradientPlaces places_;
  std::unique_ptr<GradientCompression> compression_;
  BucketReducer reducer_;
  UsedParameters used_;
  std::vector<char> is_trained_;        // of each slot
  std::vector<Share> share_of_;         // of each slot, in this sum
  std::vector<std::string> refused_;    // parameters that got, or did not get, one against the rule
  std::vector<std::size_t> untouched_;  // slots that this rank had no gradient for
  GradientSight see_;
  std::vector<char> was_shown_;    // of each slot, in this sum
  std::vector<at::Tensor> flats_;  // where gradients may lie elsewhere than in the arena
  GradientHooks hooks_;
};

}  // namespace paceline::parallel
