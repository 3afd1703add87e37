#include "paceline/parallel/replicated/gradient_compression.h"

#include "paceline/parallel/replicated/power_sgd.h"

#include <utility>

namespace paceline::parallel {
namespace {

class CastWork final : public comm::Work {
 public:
  CastWork(at::Tensor bucket, at::Tensor sent, std::unique_ptr<comm::Work> sum)
      : bucket_(std::move(bucket)), sent_(std::move(sent)), sum_(std::move(sum)) {}
  void wait() override {
    sum_->wait();
    const at::NoGradGuard no_grad;
    bucket_.copy_(sent_);
  }

 private:
  at::Tensor bucket_;
  at::Tensor sent_;
  std::unique_ptr<comm::Work> sum_;
};

/// Sums in a 16-bit type. Gradients are shares of a mean when they come, so that their sum is as
/// large as they are.
class CastCompression final : public GradientCompression {
 public:
  CastCompression(at::ScalarType dtype, const tensor::Arena& gradients,
                  comm::Communicator& communicator)
      : dtype_(dtype), gradients_(gradients), communicator_(communicator) {}

  std::unique_ptr<comm::Work> all_reduce(std::size_t bucket) override {
    const at::NoGradGuard no_grad;
    const at::Tensor whole = gradients_.bucket(bucket);
    if (at::isReducedFloatingType(whole.scalar_type())) {
      return communicator_.all_reduce(whole, comm::ReduceOp::kSum);
    }
    const at::Tensor sent = whole.to(dtype_);
    return std::make_unique<CastWork>(whole, sent,
                                      communicator_.all_reduce(sent, comm::ReduceOp::kSum));
  }

 private:
  at::ScalarType dtype_;
  const tensor::Arena& gradients_;
  comm::Communicator& communicator_;
};

}  // namespace

std::unique_ptr<GradientCompression> make_compression(const DdpConfig& config,
                                                      const tensor::Arena& gradients,
                                                      comm::Communicator& communicator) {
  if (!config.compression) return nullptr;
  if (*config.compression == Compression::kPowerSgd) {
    return std::make_unique<PowerSgd>(config.powersgd_rank, config.powersgd_start, gradients,
                                      communicator);
  }
  const bool is_half = *config.compression == Compression::kFloat16;
  return std::make_unique<CastCompression>(is_half ? at::kHalf : at::kBFloat16, gradients,
                                           communicator);
}

}  // namespace paceline::parallel
