#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/losses.h"
#include "paceline/train/task.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::train {

struct NewPartConfig {
  double loss_factor = 1.0;
};

/// Tells samples' labels: say here what is learnt, of which fields.
class NewPart final : public Task {
 public:
  NewPart(const NewPartConfig& config, std::shared_ptr<nn::Network> network,
          std::shared_ptr<nn::Loss> loss);

  void check_samples(const SampleFacts& samples) const override;
  tensor::Fields forward(const Batch& batch, const nn::ForwardContext& context) override;
  at::Tensor loss(const tensor::Fields& outputs, const Batch& batch) override;
  std::span<const Metric> metrics() const override { return metrics_; }
  std::int64_t num_sums() const override { return std::ssize(metrics_); }
  at::Tensor sums(const tensor::Fields& outputs, const Batch& batch) override;
  tensor::Fields predict(const Batch& batch, const nn::ForwardContext& context) override;

 private:
  NewPartConfig config_;
  std::shared_ptr<nn::Loss> loss_;
  std::array<Metric, 1> metrics_{Metric{"accuracy", 0}};
};

std::unique_ptr<Task> make(const NewPartConfig& config, TaskParts& parts);

}  // namespace paceline::train

template <>
struct paceline::config::Schema<paceline::train::NewPartConfig> {
  using Config = paceline::train::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence what is learnt.";
  static constexpr auto fields =
      std::tuple{field(&Config::loss_factor, "loss_factor", "Factor on the loss.", AtLeast{0},
                       AtMost{1000, "no weights survive a step"})};
};
