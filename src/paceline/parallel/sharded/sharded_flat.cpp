#include "paceline/parallel/sharded/sharded_flat.h"

#include "paceline/base/error.h"
#include "paceline/tensor/arena.h"
#include "paceline/tensor/storage.h"
#include "paceline/tensor/torch.h"

#include <limits>
#include <unordered_map>

namespace paceline::parallel {
namespace {

constexpr std::int64_t kAlignmentBytes = 64;

}  // namespace

ShardedFlat::ShardedFlat(std::span<const NamedTensor> parameters,
                         std::span<const tensor::TensorSpec> specs, const FillValues& fill,
                         comm::Communicator& world, comm::Communicator& group,
                         const ShardedFlatOptions& options)
    : group_(group), options_(options) {
  const std::int64_t length = cut(specs);
  const at::TensorOptions place = parameters.front().tensor.options().requires_grad(false);
  full_ = at::zeros({length * group.world_size()}, place);
  take_values(parameters, fill, world);
  shard_begin_ = length * group.rank();
  shard_ = full_.narrow(0, shard_begin_, length);
  if (options_.is_trainable) grad_shard_ = at::zeros_like(shard_);

  const bool is_cast = options_.param_dtype != full_.scalar_type();
  options_.keeps_full = options_.keeps_full || is_alone();
  if (!is_cast && options_.keeps_full) return;
  shard_ = shard_.clone();
  if (is_cast) {
    full_ = full_.to(options_.param_dtype);
    const at::NoGradGuard no_grad;
    for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
      const tensor::FlatSlot& at = layout_.slots[slot];
      parameters_[slot].tensor.set_data(
          full_.as_strided(at.spec.sizes, at.spec.strides, at.offset));
    }
  }
  release();
}

/// Lays the parameters out; returns the elements of one shard.
std::int64_t ShardedFlat::cut(std::span<const tensor::TensorSpec> specs) {
  constexpr std::int64_t kOneBucket = std::numeric_limits<std::int64_t>::max();
  layout_ = tensor::FlatLayout::build(specs, {.first_bucket_bytes = kOneBucket,
                                              .bucket_bytes = kOneBucket,
                                              .alignment_bytes = kAlignmentBytes});
  PACELINE_CHECK(layout_.buckets.size() == 1, "the parameters of a flat have several dtypes");
  const std::int64_t world_size = group_.world_size();
  const std::int64_t unit = kAlignmentBytes / 2;  // elements: aligned in every dtype
  return (layout_.buckets.front().end + world_size * unit - 1) / (world_size * unit) * unit;
}

void ShardedFlat::take_values(std::span<const NamedTensor> parameters, const FillValues& fill,
                              comm::Communicator& world) {
  const at::NoGradGuard no_grad;
  std::unordered_map<std::string, at::Tensor> by_name;
  for (const NamedTensor& named : parameters) by_name.emplace(named.name, named.tensor);
  for (const tensor::FlatSlot& slot : layout_.slots) {
    const at::Tensor view = full_.as_strided(slot.spec.sizes, slot.spec.strides, slot.offset);
    const at::Tensor& parameter = by_name.at(slot.spec.name);
    const bool has_values = tensor::has_memory(parameter);
    if (has_values) {
      view.copy_(parameter);
    } else {
      check_fill(fill, slot.spec.name);
    }
    // Its version counter stays its own: a gather of the same values is no change.
    parameter.set_data(view);
    parameters_.push_back({slot.spec.name, parameter});
    if (!has_values && world.rank() == 0) fill(parameters_.back());
  }
  world.broadcast(full_, 0, layout_.slots.front().spec.name)->wait();
}

bool ShardedFlat::release() {
  if (options_.keeps_full) return true;
  tensor::free_memory(full_);
  return false;
}

std::unique_ptr<comm::Work> ShardedFlat::start_gather(std::string_view label) {
  if (is_alone() && shard_.is_alias_of(full_)) return nullptr;
  tensor::allocate_memory(full_);
  const at::NoGradGuard no_grad;
  if (is_alone()) {
    full_.copy_(shard_);
    return nullptr;
  }
  gather_input_ = shard_.to(options_.param_dtype);
  return group_.all_gather(full_, gather_input_, label);
}

void ShardedFlat::bump_versions() const {
  for (const NamedTensor& named : parameters_) torch::autograd::impl::bump_version(named.tensor);
}

void ShardedFlat::check_views() const {
  for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
    tensor::check_in_place(parameters_[slot].name, parameters_[slot].tensor, full_,
                           layout_.slots[slot].offset);
  }
}

at::Tensor ShardedFlat::full_gradient() {
  if (full_grad_.defined()) return full_grad_;
  const bool is_same_dtype = options_.reduce_dtype == grad_shard_.scalar_type();
  if (is_alone() && is_same_dtype) {
    full_grad_ = grad_shard_;
    return full_grad_;
  }
  full_grad_ = at::empty({full_.numel()}, grad_shard_.options().dtype(options_.reduce_dtype));
  std::int64_t end = 0;  // what lies between the parameters must be zero
  for (const tensor::FlatSlot& slot : layout_.slots) {
    if (slot.offset > end) full_grad_.narrow(0, end, slot.offset - end).zero_();
    end = slot.offset + slot.numel;
  }
  if (full_.numel() > end) full_grad_.narrow(0, end, full_.numel() - end).zero_();
  return full_grad_;
}

at::Tensor ShardedFlat::gradient_slot(std::size_t slot) {
  const tensor::FlatSlot& place = layout_.slots[slot];
  return full_gradient().as_strided(place.spec.sizes, place.spec.strides, place.offset);
}

void ShardedFlat::take_gradient(std::size_t slot, const at::Tensor& grad, bool add) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;  // nobody differentiates this
  if (add) {
    gradient_slot(slot).add_(grad);
  } else {
    gradient_slot(slot).copy_(grad);
  }
}

void ShardedFlat::zero_gradient(std::size_t slot) {
  const at::NoGradGuard no_grad;
  gradient_slot(slot).zero_();
}

std::unique_ptr<comm::Work> ShardedFlat::start_reduce(std::string_view label) {
  if (is_alone()) return nullptr;
  const at::NoGradGuard no_grad;
  reduced_ = at::empty({shard_.numel()}, full_grad_.options());
  return group_.reduce_scatter(reduced_, full_grad_, label);
}

void ShardedFlat::end_reduce(bool add) {
  const at::NoGradGuard no_grad;
  const at::Tensor sum = is_alone() ? full_grad_ : reduced_;
  if (!sum.is_alias_of(grad_shard_)) {
    if (add) {
      grad_shard_.add_(sum);
    } else {
      grad_shard_.copy_(sum);
    }
  }
  full_grad_.reset();
  reduced_.reset();
}

std::uint64_t ShardedFlat::full_bytes() const {
  return static_cast<std::uint64_t>(full_.numel()) * c10::elementSize(options_.param_dtype);
}

std::uint64_t ShardedFlat::parameter_bytes() const {
  if (!options_.keeps_full) return shard_.nbytes();
  return full_bytes() + (is_cast() ? shard_.nbytes() : 0);
}

std::uint64_t ShardedFlat::gradient_bytes() const {
  return is_trainable() ? grad_shard_.nbytes() : 0;
}

std::uint64_t ShardedFlat::gathered_bytes() const {
  const std::uint64_t input = is_cast() && !is_alone() ? full_bytes() / world_size() : 0;
  return input + (options_.keeps_full ? 0 : full_bytes());
}

std::uint64_t ShardedFlat::full_gradient_bytes() const {
  const bool is_in_place = is_alone() && options_.reduce_dtype == shard_.scalar_type();
  if (!is_trainable() || is_in_place) return 0;
  return static_cast<std::uint64_t>(full_.numel()) * c10::elementSize(options_.reduce_dtype);
}

std::uint64_t ShardedFlat::reduced_bytes() const {
  return is_alone() ? 0 : full_gradient_bytes() / world_size();
}

}  // namespace paceline::parallel
