#include "paceline/base/error.h"
#include "paceline/train/tasks/new_part.h"

#include <utility>

namespace paceline::train {
namespace {

constexpr std::string_view kNewPartScores = "scores";  // [size, classes], among the outputs

}  // namespace

NewPart::NewPart(const NewPartConfig& config, std::shared_ptr<nn::Network> network,
                 std::shared_ptr<nn::Loss> loss)
    : Task(std::move(network)), config_(config), loss_(std::move(loss)) {}

void NewPart::check_samples(const SampleFacts& samples) const {
  if (!samples.sizes.contains(kLabels))
    throw base::ConfigError("task new_part needs a data set with labels, one for a sample");
  static_cast<void>(network().flops_per_sample(samples.sizes));  // throws for what it does not take
}

tensor::Fields NewPart::forward(const Batch& batch, const nn::ForwardContext& context) {
  return {{std::string(kNewPartScores), network().forward(batch.fields, context)}};
}

at::Tensor NewPart::loss(const tensor::Fields& outputs, const Batch& batch) {
  return loss_->sum(outputs.at(kNewPartScores), batch.fields.at(kLabels)) * config_.loss_factor;
}

at::Tensor NewPart::sums(const tensor::Fields& outputs, const Batch& batch) {
  const at::Tensor guesses = outputs.at(kNewPartScores).detach().argmax(1);
  return guesses.eq(batch.fields.at(kLabels)).sum().to(at::kDouble).view({1});
}

tensor::Fields NewPart::predict(const Batch& batch, const nn::ForwardContext& context) {
  return {{"guesses", network().forward(batch.fields, context).argmax(1)}};
}

std::unique_ptr<Task> make(const NewPartConfig& config, TaskParts& parts) {
  return std::make_unique<NewPart>(config, parts.make_network(), parts.make_loss());
}

}  // namespace paceline::train
