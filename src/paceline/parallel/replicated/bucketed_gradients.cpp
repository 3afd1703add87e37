#include "paceline/parallel/replicated/bucketed_gradients.h"

#include "paceline/parallel/replica_consistency.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <unordered_map>

#include <ATen/core/LegacyTypeDispatch.h>

namespace paceline::parallel {
namespace {

tensor::FlatLayout make_layout(std::span<const NamedTensor> parameters,
                               std::span<const optim::GroupRule> rules, const DdpConfig& config,
                               comm::Communicator* communicator) {
  std::vector<tensor::TensorSpec> specs;
  for (const NamedTensor& parameter : parameters) {
    const std::size_t group = optim::match_rule(rules, parameter.name, parameter.tensor);
    specs.push_back(
        tensor::describe(parameter.name, parameter.tensor, static_cast<std::int64_t>(group)));
  }
  if (communicator != nullptr) check_ranks_agree(specs, *communicator);
  return tensor::FlatLayout::build(specs, layout_options(config));
}

std::vector<NamedTensor> in_layout_order(std::span<const NamedTensor> parameters,
                                         const tensor::FlatLayout& layout) {
  std::unordered_map<std::string, at::Tensor> by_name;
  for (const NamedTensor& parameter : parameters) by_name.emplace(parameter.name, parameter.tensor);
  std::vector<NamedTensor> ordered;
  for (const tensor::FlatSlot& slot : layout.slots) {
    ordered.push_back({slot.spec.name, by_name.at(slot.spec.name)});
  }
  return ordered;
}

}  // namespace

BucketedGradients::BucketedGradients(std::span<const NamedTensor> parameters,
                                     std::span<const optim::GroupRule> rules,
                                     const DdpConfig& config, std::string_view section,
                                     comm::Communicator* communicator,
                                     const GradientHandler& handler)
    : gradients_(make_layout(parameters, rules, config, communicator), parameters.front().tensor),
      parameters_(in_layout_order(parameters, gradients_.layout())),
      // Sums over the ranks need all of them side by side.
      places_(gradients_, communicator == nullptr && parameters_.front().tensor.is_cpu()),
      compression_(communicator == nullptr ? nullptr
                                           : make_compression(config, gradients_, *communicator)),
      reducer_(gradients_, communicator, compression_.get()),
      used_(config, section, parameters_.size(), gradients_.flats().front().device(), communicator),
      is_trained_(parameters_.size(), 1),
      share_of_(parameters_.size(), Share::kNone),
      was_shown_(parameters_.size(), 0),
      hooks_(parameters_, handler) {
  if (places_.bytes_beside_arena() == 0) return;
  for (std::size_t i = 0; i < places_.ranges().size(); ++i) flats_.push_back(places_.range(i));
}

const std::vector<at::Tensor>& BucketedGradients::flats() const {
  return flats_.empty() ? gradients_.flats() : flats_;
}

std::uint64_t BucketedGradients::arena_bytes() const {
  std::uint64_t bytes = 0;
  for (const at::Tensor& flat : gradients_.flats()) bytes += flat.nbytes();
  return bytes;
}

void BucketedGradients::follow_trainable() {
  const at::NoGradGuard no_grad;
  for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
    is_trained_[slot] = parameters_[slot].tensor.requires_grad() ? 1 : 0;
    if (is_trained_[slot] == 0) places_.share(slot).zero_();
  }
  reducer_.reduce_only(is_trained_);
}

void BucketedGradients::begin() {
  for (std::size_t slot = 0; slot < parameters_.size(); ++slot)
    share_of_[slot] = is_trained_[slot] != 0 ? Share::kNone : Share::kZeros;
  std::ranges::fill(was_shown_, 0);
  refused_.clear();
  places_.release();
  reducer_.begin();
}

void BucketedGradients::begin_backward() {
  reducer_.begin_backward();
  for (const std::size_t slot : used_.known_unused()) {
    zero_if_missing(slot);
    reducer_.mark_ready(slot);
  }
  reducer_.start_full();
}

/// This rank's share of the gradient is zeros, if it has none.
void BucketedGradients::zero_if_missing(std::size_t slot) {
  if (share_of_[slot] != Share::kNone) return;
  places_.share(slot).zero_();
  share_of_[slot] = Share::kZeros;
}

bool BucketedGradients::refuses(std::size_t slot) {
  if (!used_.is_known_unused(slot)) return false;
  refused_.push_back(parameters_[slot].name);
  return true;
}

void BucketedGradients::take(std::size_t slot, const at::Tensor& grad, bool is_final) {
  if (refuses(slot)) return;
  add(slot, grad);
  if (!is_final) return;
  show(slot);
  reducer_.mark_ready(slot);
  reducer_.start_full();
}

void BucketedGradients::add(std::size_t slot, const at::Tensor& grad) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;  // nobody differentiates this
  if (share_of_[slot] != Share::kNone) {
    places_.share(slot).add_(grad);
  } else if (!places_.leave(slot, grad)) {
    places_.share(slot).copy_(grad);
  }
  share_of_[slot] = Share::kOfBackward;
}

void BucketedGradients::mark_ready(std::size_t slot) {
  share_of_[slot] = Share::kOfBackward;
  reducer_.mark_ready(slot);
  reducer_.start_full();
}

void BucketedGradients::take_zeros(bool is_ready) {
  for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
    zero_if_missing(slot);
    if (is_ready && is_trained_[slot] != 0) reducer_.mark_ready(slot);
  }
  if (!is_ready) return;
  show_rest();
  reducer_.start_full();
}

void BucketedGradients::show(std::size_t slot) {
  if (see_ && std::exchange(was_shown_[slot], 1) == 0) see_(slot, places_.share(slot));
}

/// What the last backward pass of the sum brought nothing for.
void BucketedGradients::show_rest() {
  if (!see_) return;
  for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
    if (is_trained_[slot] != 0) show(slot);
  }
}

void BucketedGradients::start_rest(bool had_backward) {
  untouched_.clear();
  for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
    if (is_trained_[slot] == 0 || share_of_[slot] == Share::kOfBackward) continue;
    untouched_.push_back(slot);
    zero_if_missing(slot);
    // A rank without samples shows nothing.
    const bool must_have_one =
        had_backward && !used_.allows_missing() && !used_.is_known_unused(slot);
    if (must_have_one) refused_.push_back(parameters_[slot].name);
  }
  show_rest();
  reducer_.start_rest();
}

void BucketedGradients::finish() {
  reducer_.finish();
  used_.finish_exchange();
}

std::vector<tensor::StateShard> BucketedGradients::compression_state() const {
  return compression_ ? compression_->state() : std::vector<tensor::StateShard>();
}

}  // namespace paceline::parallel
