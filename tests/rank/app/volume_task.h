#pragma once

#include "paceline/base/error.h"
#include "paceline/config/schema.h"
#include "paceline/tensor/aten.h"
#include "paceline/train/task.h"

#include <memory>
#include <utility>
#include <vector>

namespace paceline::app {

/// Tells the mean of a volume by its two X-rays, for data sets of those.
struct MeanOfVolumeConfig {};

class MeanOfVolume final : public train::Task {
 public:
  explicit MeanOfVolume(std::shared_ptr<nn::Network> network) : Task(std::move(network)) {}
  void check_samples(const train::SampleFacts& samples) const override {
    if (!samples.sizes.contains("volume") || !samples.sizes.contains("xrays"))
      throw base::ConfigError("the task needs fields volume and xrays");
  }
  tensor::Fields forward(const train::Batch& batch, const nn::ForwardContext& context) override {
    const at::Tensor& xrays = batch.fields.at("xrays");
    const at::Tensor images = at::cat({xrays, xrays.mean(1, /*keepdim=*/true)}, 1);
    return {{"mean", network().forward({{"images", images}}, context).squeeze(1)}};
  }
  at::Tensor loss(const tensor::Fields& outputs, const train::Batch& batch) override {
    const at::Tensor wanted = batch.fields.at("volume").flatten(1).mean(1);
    return (outputs.at("mean") - wanted).square().sum();
  }
  std::span<const train::Metric> metrics() const override { return metrics_; }
  std::int64_t num_sums() const override { return 1; }
  at::Tensor sums(const tensor::Fields& outputs, const train::Batch& batch) override {
    return loss(outputs, batch).detach().to(at::kDouble).reshape(1);
  }

 private:
  std::vector<train::Metric> metrics_{{.name = "error"}};
};

inline std::unique_ptr<train::Task> make(const MeanOfVolumeConfig&, train::TaskParts& parts) {
  return std::make_unique<MeanOfVolume>(parts.make_network(1));
}

}  // namespace paceline::app

template <>
struct paceline::config::Schema<paceline::app::MeanOfVolumeConfig> {
  static constexpr std::string_view name = "mean_of_volume";
  static constexpr std::string_view summary = "Tells the mean of a volume.";
  static constexpr auto fields = std::tuple{};
};
