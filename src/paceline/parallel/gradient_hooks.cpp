#include "paceline/parallel/gradient_hooks.h"

#include "paceline/base/error.h"
#include "paceline/tensor/torch.h"

#include <memory>
#include <utility>

namespace paceline::parallel {
namespace {

class Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(std::shared_ptr<const GradientHandler> handler, std::size_t parameter, std::string name)
      : handler_(std::move(handler)), parameter_(parameter), name_(std::move(name)) {}

  void operator()(const at::Tensor& tensor) override {
    at::Tensor& grad = tensor.mutable_grad();
    PACELINE_CHECK(!at::GradMode::is_enabled(),
                   "backward(create_graph=true) replaces gradients; it cannot be combined with a "
                   "strategy that keeps them in flat memory");
    PACELINE_CHECK(grad.layout() == at::kStrided,
                   "the gradient of '{}' is sparse; only dense gradients are reduced", name_);
    (*handler_)(parameter_, grad);
  }

 private:
  std::shared_ptr<const GradientHandler> handler_;
  std::size_t parameter_;
  std::string name_;
};

}  // namespace

GradientHooks::GradientHooks(std::span<const NamedTensor> parameters,
                             const GradientHandler& handler) {
  using torch::autograd::impl::post_acc_grad_hooks;
  for (const NamedTensor& parameter : parameters) {
    PACELINE_CHECK(post_acc_grad_hooks(parameter.tensor) == nullptr,
                   "parameter '{}' has a post-accumulate hook already: a module can be under one "
                   "strategy or DistributedDataParallel at a time",
                   parameter.name);
  }
  const auto shared = std::make_shared<const GradientHandler>(handler);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters[i].tensor, std::make_unique<Hook>(shared, i, parameters[i].name));
    hooked_.push_back(parameters[i].tensor);
  }
}

GradientHooks::~GradientHooks() {
  for (const at::Tensor& parameter : hooked_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

}  // namespace paceline::parallel
