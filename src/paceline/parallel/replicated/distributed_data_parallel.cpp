#include "paceline/parallel/replicated/distributed_data_parallel.h"

#include "paceline/base/error.h"
#include "paceline/parallel/gradient_hooks.h"
#include "paceline/parallel/missing_gradients.h"
#include "paceline/parallel/named_tensors.h"
#include "paceline/parallel/replicated/bucket_reducer.h"
#include "paceline/parallel/replicated/gradient_compression.h"
#include "paceline/parallel/replicated/used_parameters.h"
#include "paceline/parallel/same_start.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>

namespace paceline::parallel {
namespace {

tensor::FlatLayout make_layout(std::span<const NamedTensor> parameters, const DdpConfig& config,
                               comm::Communicator& communicator) {
  std::vector<tensor::TensorSpec> specs;
  for (const NamedTensor& parameter : parameters) {
    specs.push_back(tensor::describe(parameter.name, parameter.tensor, /*group=*/0));
  }
  check_ranks_agree(specs, communicator);
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

std::vector<NamedTensor> trainable_or_throw(const torch::nn::Module& module) {
  std::vector<NamedTensor> parameters = trainable_parameters(module);
  if (parameters.empty()) throw base::ConfigError("the module has no trainable parameter");
  return parameters;
}

}  // namespace

class DistributedDataParallel::State {
 public:
  State(torch::nn::Module& module, comm::Communicator& communicator, const Options& options)
      : State(module, trainable_or_throw(module), communicator, options) {}

  void finish_gradients() {
    if (reducer_.ready_order().empty()) settle();
    std::vector<std::string> refused = std::exchange(surprises_, {});
    std::vector<std::size_t> untouched = used_.settled();
    for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
      if (reducer_.is_ready(slot) || used_.is_settled(slot)) continue;
      at::Tensor& grad = parameters_[slot].tensor.mutable_grad();
      if (grad.defined()) {
        take_gradient(slot, grad);  // from a backward inside no_sync()
      } else {
        slots_[slot].zero_();
        untouched.push_back(slot);
        if (!used_.allows_missing()) refused.push_back(parameters_[slot].name);
      }
    }
    reducer_.start_rest();
    const at::Tensor any_refused = at::full({1}, refused.empty() ? 0.0 : 1.0, at::kDouble);
    const auto exchange =
        communicator_.all_reduce(any_refused, comm::ReduceOp::kMax, "missing gradients");
    used_.start_exchange(untouched, /*had_backward=*/true);
    reducer_.finish();
    exchange->wait();
    if (*any_refused.const_data_ptr<double>() != 0) {
      refuse_missing_gradients(refused, used_.demand(), &communicator_);
    }
    used_.finish_exchange();
    give_gradients(untouched, used_.unused());
    report_ = reducer_.report();
    reducer_.begin();
  }

  void synchronise_buffers() { broadcast_from_first_rank(buffers_, communicator_); }
  std::vector<tensor::StateShard> compression_state() {
    return compression_ ? compression_->state() : std::vector<tensor::StateShard>();
  }
  const CommunicationReport& report() const { return report_; }
  double exposed_s() const { return reducer_.exposed_s(); }

  bool is_reducing = true;

 private:
  State(torch::nn::Module& module, const std::vector<NamedTensor>& parameters,
        comm::Communicator& communicator, const Options& options)
      : communicator_(communicator),
        scale_(options.reduction == Reduction::kMean ? 1.0 / communicator.world_size() : 1.0),
        scale_tensor_(at::scalar_tensor(scale_, at::kDouble)),
        gradients_(make_layout(parameters, options.buckets, communicator),
                   parameters.front().tensor),
        parameters_(in_layout_order(parameters, gradients_.layout())),
        buffers_(module_buffers(module)),
        compression_(make_compression(options.buckets, gradients_, communicator)),
        reducer_(gradients_, &communicator, compression_.get()),
        used_(options.buckets, "ddp", parameters_.size(), gradients_.flats().front().device(),
              &communicator) {
    {
      // No views in autograd's sense: optimizers that zero gradients detach them in place.
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
        slots_.push_back(gradients_.slot(slot));
      }
    }
    broadcast_from_first_rank(parameters_, communicator);
    broadcast_from_first_rank(frozen_parameters(module), communicator);
    synchronise_buffers();
    hooks_ =
        std::make_unique<GradientHooks>(parameters_, [this](std::size_t slot, at::Tensor& grad) {
          if (is_reducing) take_gradient(slot, grad);
        });
  }

  /// Puts this rank's share of the reduced gradient into the slot and makes .grad a view of it. A
  /// .grad that was zeroed, not dropped, is the slot already, and backward has added to it there.
  void take_gradient(std::size_t slot, at::Tensor& grad) {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    if (used_.is_settled(slot)) {
      surprises_.push_back(parameters_[slot].name);
      return;
    }
    if (reducer_.ready_order().empty()) settle();
    at::Tensor& target = slots_[slot];
    if (!grad.is_alias_of(target)) {
      at::mul_out(target, grad, scale_tensor_);
      grad = target;
    } else if (scale_ != 1.0) {
      target.mul_(scale_);
    }
    reducer_.mark_ready(slot);
  }

  /// What is known to get no gradient need not be waited for.
  void settle() {
    for (const std::size_t slot : used_.settled()) {
      slots_[slot].zero_();
      reducer_.mark_ready(slot);
    }
  }

  /// To the parameters for which other ranks had gradients; those for which none had one keep none.
  void give_gradients(std::span<const std::size_t> untouched, std::span<const std::size_t> unused) {
    for (const std::size_t slot : untouched) {
      if (!std::ranges::binary_search(unused, slot)) {
        parameters_[slot].tensor.mutable_grad() = slots_[slot];
      }
    }
  }

  comm::Communicator& communicator_;
  double scale_;
  at::Tensor scale_tensor_;  // on the CPU, as a number for kernels
  tensor::Arena gradients_;
  std::vector<NamedTensor> parameters_;  // in layout order
  std::vector<NamedTensor> buffers_;
  std::vector<at::Tensor> slots_;
  std::unique_ptr<GradientCompression> compression_;  // may be null
  BucketReducer reducer_;
  UsedParameters used_;
  std::vector<std::string> surprises_;  // parameters whose gradients should not have come
  CommunicationReport report_;
  std::unique_ptr<GradientHooks> hooks_;
};

DistributedDataParallel::DistributedDataParallel(torch::nn::Module& module,
                                                 comm::Communicator& communicator, Options options)
    : state_(std::make_unique<State>(module, communicator, options)) {}
DistributedDataParallel::~DistributedDataParallel() = default;
DistributedDataParallel::DistributedDataParallel(DistributedDataParallel&&) noexcept = default;

void DistributedDataParallel::finish_gradients() { state_->finish_gradients(); }
void DistributedDataParallel::synchronise_buffers() { state_->synchronise_buffers(); }
DistributedDataParallel::NoSync DistributedDataParallel::no_sync() { return NoSync(*state_); }
const CommunicationReport& DistributedDataParallel::communication_report() const {
  return state_->report();
}
std::vector<tensor::StateShard> DistributedDataParallel::compression_state() {
  return state_->compression_state();
}
double DistributedDataParallel::exposed_communication_s() const { return state_->exposed_s(); }

DistributedDataParallel::NoSync::NoSync(State& state)
    : state_(state), was_reducing_(std::exchange(state.is_reducing, false)) {}
DistributedDataParallel::NoSync::~NoSync() { state_.is_reducing = was_reducing_; }

}  // namespace paceline::parallel
