#include "paceline/parallel/replicated/distributed_data_parallel.h"

#include "paceline/parallel/named_tensors.h"
#include "paceline/parallel/replica_consistency.h"
#include "paceline/parallel/replicated/bucketed_gradients.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>

namespace paceline::parallel {
namespace {

/// Any optimizer will do, whatever it puts into groups.
std::vector<optim::GroupRule> one_group() {
  return {{.name = "all", .matches = [](const std::string&, const at::Tensor&) { return true; }}};
}

}  // namespace

class DistributedDataParallel::State {
 public:
  State(torch::nn::Module& module, comm::Communicator& communicator, const Options& options)
      : communicator_(communicator),
        config_(options.buckets),
        scale_(options.reduction == Reduction::kMean ? 1.0 / communicator.world_size() : 1.0),
        scale_tensor_(at::scalar_tensor(scale_, at::kDouble)),
        buffers_(module_buffers(module)),
        gradients_(trainable_parameters(module), one_group(), config_, "ddp", &communicator,
                   [this](std::size_t slot, at::Tensor& grad) {
                     if (is_reducing) take_gradient(slot, grad);
                   }) {
    broadcast_from_first_rank(gradients_.parameters(), communicator);
    broadcast_from_first_rank(frozen_parameters(module), communicator);
    synchronise_buffers();
  }

  void finish_gradients() {
    if (!gradients_.has_ready()) gradients_.begin_backward();
    take_unreduced();
    gradients_.start_rest(/*had_backward=*/true);
    const MissingGradients missing = gradients_.missing();
    const at::Tensor any_missing = at::full({1}, missing.names.empty() ? 0.0 : 1.0, at::kDouble);
    const auto exchange =
        communicator_.all_reduce(any_missing, comm::ReduceOp::kMax, "missing gradients");
    gradients_.start_exchange(/*had_backward=*/true);
    gradients_.finish();
    exchange->wait();
    if (*any_missing.const_data_ptr<double>() != 0) {
      refuse_missing_gradients(missing, &communicator_);
    }
    give_gradients();
    report_ = gradients_.report();
    exposed_s_ = gradients_.exposed_s();
    gradients_.begin();
  }

  void synchronise_buffers() { broadcast_from_first_rank(buffers_, communicator_); }
  std::vector<tensor::StateShard> compression_state() { return gradients_.compression_state(); }
  const CommunicationReport& report() const { return report_; }
  double exposed_s() const { return exposed_s_; }

  bool is_reducing = true;

 private:
  /// Puts this rank's share of the reduced gradient into the slot and makes .grad a view of it. A
  /// .grad that was zeroed, not dropped, is the slot already, and backward has added to it there.
  void take_gradient(std::size_t slot, at::Tensor& grad) {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    if (gradients_.refuses(slot)) return;
    if (!gradients_.has_ready()) gradients_.begin_backward();
    at::Tensor& share = gradients_.share(slot);
    if (!grad.is_alias_of(share)) {
      at::mul_out(share, grad, scale_tensor_);
      grad = share;
    } else if (scale_ != 1.0) {
      share.mul_(scale_);
    }
    gradients_.mark_ready(slot);
  }

  /// What backward passes inside no_sync() left in .grad.
  void take_unreduced() {
    for (std::size_t slot = 0; slot < gradients_.parameters().size(); ++slot) {
      at::Tensor& grad = grad_of(slot);
      if (!gradients_.is_ready(slot) && grad.defined()) take_gradient(slot, grad);
    }
  }

  /// To the parameters for which other ranks had gradients; those for which none had one keep none.
  void give_gradients() {
    const std::vector<std::size_t> unused = gradients_.used().unused();
    for (const std::size_t slot : gradients_.untouched()) {
      if (!std::ranges::binary_search(unused, slot)) grad_of(slot) = gradients_.share(slot);
    }
  }

  at::Tensor& grad_of(std::size_t slot) {
    return gradients_.parameters()[slot].tensor.mutable_grad();
  }

  comm::Communicator& communicator_;
  DdpConfig config_;
  double scale_;
  at::Tensor scale_tensor_;  // on the CPU, as a number for kernels
  std::vector<NamedTensor> buffers_;
  BucketedGradients gradients_;
  CommunicationReport report_;
  double exposed_s_ = 0;
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
