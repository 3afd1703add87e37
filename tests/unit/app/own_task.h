#pragma once

#include "paceline/base/error.h"
#include "paceline/config/schema.h"
#include "paceline/train/task.h"

#include <memory>
#include <optional>
#include <utility>

namespace paceline::app {

/// A task with a loss of its own.
struct OwnTaskConfig {
  bool wants_number = true;
  std::optional<int> num_outputs;
};

class OwnTask final : public train::Task {
 public:
  OwnTask(const OwnTaskConfig& config, std::shared_ptr<nn::Network> network)
      : Task(std::move(network)), config_(config) {}
  void check_samples(const train::SampleFacts& samples) const override {
    if (samples.sizes.contains("number") != config_.wants_number)
      throw base::ConfigError("the own task does not suit the data");
  }
  tensor::Fields forward(const train::Batch&, const nn::ForwardContext&) override { return {}; }
  at::Tensor loss(const tensor::Fields&, const train::Batch&) override { return {}; }
  std::span<const train::Metric> metrics() const override { return {}; }
  std::int64_t num_sums() const override { return 0; }
  at::Tensor sums(const tensor::Fields&, const train::Batch&) override { return {}; }

 private:
  OwnTaskConfig config_;
};

inline std::unique_ptr<train::Task> make(const OwnTaskConfig& config, train::TaskParts& parts) {
  return std::make_unique<OwnTask>(config, parts.make_network(config.num_outputs));
}

}  // namespace paceline::app

template <>
struct paceline::config::Schema<paceline::app::OwnTaskConfig> {
  using Config = paceline::app::OwnTaskConfig;
  static constexpr std::string_view name = "own_task";
  static constexpr std::string_view summary = "Learns numbers.";
  static constexpr auto fields =
      std::tuple{field(&Config::wants_number, "wants_number", "Or something else."),
                 field(&Config::num_outputs, "num_outputs", "Of its network, if not the data's.")};
};
