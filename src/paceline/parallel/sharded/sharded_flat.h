#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/parallel/named_tensors.h"
#include "paceline/parallel/strategy.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/flat_layout.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace paceline::parallel {

struct ShardedFlatOptions {
  bool is_trainable = true;
  bool keeps_full =
      false;  ///< the full tensor stays allocated; the shard is a part of it if it can
  at::ScalarType param_dtype = at::kFloat;   ///< of the full tensor, in which the model computes
  at::ScalarType reduce_dtype = at::kFloat;  ///< in which gradients are summed over the ranks
};

/// Parameters of one dtype, laid out in one flat tensor that is cut into equal pieces, one for each
/// rank of a group. A rank keeps its piece (the shard, in the parameters' first dtype) and the sum
/// of the gradients of that piece; the full tensor is gathered when it is needed. The module's own
/// tensors are views of the full tensor for ever: between release() and the next gather their
/// memory is gone, but autograd may keep them.
class ShardedFlat {
 public:
  /// Takes the parameters over, with the values of `world`'s rank 0, where those without memory get
  /// theirs from `fill`. `specs` are those of `parameters`, all of one dtype. `group` must outlive
  /// this. Every rank of `world` must call it.
  ShardedFlat(std::span<const NamedTensor> parameters, std::span<const tensor::TensorSpec> specs,
              const FillValues& fill, comm::Communicator& world, comm::Communicator& group,
              const ShardedFlatOptions& options);

  const tensor::FlatLayout& layout() const { return layout_; }
  bool is_trainable() const { return options_.is_trainable; }
  /// The module's tensors, parallel to layout().slots.
  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  const at::Tensor& shard() const { return shard_; }            ///< [n]
  const at::Tensor& grad_shard() const { return grad_shard_; }  ///< [n]; undefined if not trained
  std::int64_t shard_begin() const { return shard_begin_; }     ///< in elements of the full tensor
  std::int64_t shard_end() const { return shard_begin_ + shard_.numel(); }

  // Bytes, whatever is allocated at the moment.
  std::uint64_t parameter_bytes() const;  ///< held all the time
  std::uint64_t gradient_bytes() const;   ///< likewise
  std::uint64_t gathered_bytes()
      const;  ///< from a gather to its release(); 0 if the full tensor is kept
  std::uint64_t full_gradient_bytes() const;  ///< while a backward fills it, until it is reduced
  std::uint64_t reduced_bytes() const;        ///< the sum on its way into the gradient shard

  /// Starts to fill the full tensor with the shards of all ranks; nullptr if there is nothing to
  /// wait for.
  std::unique_ptr<comm::Work> start_gather(std::string_view label);
  /// To be called once the gather's wait() returned.
  void end_gather() { gather_input_.reset(); }
  /// Frees the full tensor's memory unless it is kept; returns whether it still holds the values.
  /// On a GPU kernels that read it may still be queued: whoever gets the memory is queued behind
  /// them (see tensor::Device).
  bool release();
  /// The values change: autograd shall notice where the old ones were saved.
  void bump_versions() const;
  /// Throws InternalError that names a parameter which is no longer a view.
  void check_views() const;

  /// Copies or adds this rank's gradient of a parameter.
  void take_gradient(std::size_t slot, const at::Tensor& grad, bool add);
  void zero_gradient(std::size_t slot);
  /// Starts to sum the gradients over the group's ranks. nullptr if there is nothing to wait for.
  std::unique_ptr<comm::Work> start_reduce(std::string_view label);
  /// To be called once that work is done: puts the sum into the gradient shard, or adds it.
  void end_reduce(bool add);

 private:
  std::int64_t cut(std::span<const tensor::TensorSpec> specs);
  void take_values(std::span<const NamedTensor> parameters, const FillValues& fill,
                   comm::Communicator& world);
  at::Tensor full_gradient();
  at::Tensor gradient_slot(std::size_t slot);
  bool is_alone() const { return group_.world_size() == 1; }
  bool is_cast() const { return options_.param_dtype != shard_.scalar_type(); }
  std::uint64_t world_size() const { return static_cast<std::uint64_t>(group_.world_size()); }
  std::uint64_t full_bytes() const;

  comm::Communicator& group_;
  ShardedFlatOptions options_;
  tensor::FlatLayout layout_;
  std::vector<NamedTensor> parameters_;
  at::Tensor full_;          // [n * world_size]; its storage comes and goes
  at::Tensor shard_;         // [n]
  at::Tensor grad_shard_;    // [n]
  at::Tensor full_grad_;     // [n * world_size] in reduce_dtype, while a backward needs it
  at::Tensor gather_input_;  // the shard in param_dtype, while it is gathered
  at::Tensor reduced_;       // [n] in reduce_dtype, while gradients are summed
  std::int64_t shard_begin_ = 0;
};

}  // namespace paceline::parallel
