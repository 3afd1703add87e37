// Five components of a user's own, none of which paceline knows: a data set whose samples are no
// images, a network, a task, an algorithm that changes weights, and a logger.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <paceline/base/error.h>
#include <paceline/cli/program.h>
#include <paceline/data/loader/sample_maker.h>
#include <paceline/nn/linear.h>
#include <paceline/train/train_state.h>

namespace own {

namespace pl = paceline;

inline constexpr std::int64_t kLength = 8;

struct SeriesConfig {
  std::int64_t num_samples = 64;
};

/// Numbers of a wave, and what they weigh: sample i is a function of i.
class Series final : public pl::data::Dataset {
 public:
  explicit Series(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  void get(std::int64_t index, pl::data::StoredSample& sample) const override {
    std::array<float, kLength + 1> numbers{};
    for (std::size_t i = 0; i < kLength; ++i) {
      numbers[i] = std::sin(static_cast<float>(index) * (1.0f + static_cast<float>(i)));
      numbers[kLength] += numbers[i] * static_cast<float>(i);
    }
    sample.bytes.resize(sizeof(numbers));
    std::memcpy(sample.bytes.data(), numbers.data(), sizeof(numbers));
  }
  std::string describe(std::int64_t index) const override { return fmt::format("{}", index); }
  std::string fingerprint() const override { return fmt::format("series-{}", size_); }

 private:
  std::int64_t size_;
};

/// The wave and its weight as two fields.
class SeriesMaker final : public pl::data::SampleMaker {
 public:
  const std::vector<pl::data::FieldSpec>& fields() const override { return fields_; }
  pl::data::EraseSteps make(const pl::data::StoredSample& sample, const pl::data::DrawKey&,
                            pl::data::TransformScratch&,
                            std::span<std::byte* const> targets) const override {
    std::memcpy(targets[0], sample.bytes.data(), kLength * sizeof(float));
    std::memcpy(targets[1], sample.bytes.data() + kLength * sizeof(float), sizeof(float));
    return {};
  }

 private:
  std::vector<pl::data::FieldSpec> fields_{{.name = "wave", .sizes = {kLength}},
                                           {.name = "weight"}};
};

struct LineConfig {
  bool doubled = false;
};

/// One linear layer; its output may be doubled.
class Line final : public pl::nn::Network {
 public:
  explicit Line(const LineConfig& config) : factor_(config.doubled ? 2.0 : 1.0) {
    layer_ = register_module("layer", std::make_shared<pl::nn::Linear>(kLength, 1));
  }
  at::Tensor forward(const pl::tensor::Fields& inputs, const pl::nn::ForwardContext&) override {
    return layer_->forward(inputs.at("wave")).squeeze(1) * factor_;
  }
  void initialize_parameter(const pl::nn::NamedTensor& parameter,
                            const pl::tensor::DrawKey& key) const override {
    pl::tensor::fill_uniform(parameter.tensor, -0.1, 0.1, key);
  }
  double flops_per_sample(const pl::nn::SampleSizes&) const override { return layer_->flops(); }

 private:
  double factor_;
  std::shared_ptr<pl::nn::Linear> layer_;
};

struct RegressionConfig {};

/// Learns the weight of a wave by its square error, and shows the absolute one.
class Regression final : public pl::train::Task {
 public:
  explicit Regression(std::shared_ptr<pl::nn::Network> network) : Task(std::move(network)) {}
  void check_samples(const pl::train::SampleFacts& samples) const override {
    if (!samples.sizes.contains("wave") || !samples.sizes.contains("weight"))
      throw pl::base::ConfigError("task regression needs fields wave and weight: use data series");
  }
  pl::tensor::Fields forward(const pl::train::Batch& batch,
                             const pl::nn::ForwardContext& context) override {
    return {{"guess", network().forward(batch.fields, context)}};
  }
  at::Tensor loss(const pl::tensor::Fields& outputs, const pl::train::Batch& batch) override {
    return (outputs.at("guess") - batch.fields.at("weight")).square().sum();
  }
  std::span<const pl::train::Metric> metrics() const override { return metrics_; }
  std::int64_t num_sums() const override { return 1; }
  at::Tensor sums(const pl::tensor::Fields& outputs, const pl::train::Batch& batch) override {
    const at::Tensor error = (outputs.at("guess").detach() - batch.fields.at("weight")).abs();
    return error.sum(at::kDouble).view({1});
  }

 private:
  std::array<pl::train::Metric, 1> metrics_{pl::train::Metric{"error", 0}};
};

struct ClampConfig {
  double limit = 10;
};

/// Keeps weights within a limit.
class Clamp final : public pl::train::Algorithm {
 public:
  explicit Clamp(const ClampConfig& config) : limit_(config.limit) {}
  std::string_view name() const override { return "clamp"; }
  pl::train::AlgorithmTraits traits() const override {
    return {.events = {pl::train::Event::kStepEnd}};
  }
  void apply(pl::train::Event, pl::train::TrainState& state,
             const pl::train::RunContext&) override {
    const at::NoGradGuard no_grad;
    for (const auto& group : state.strategy->param_groups()) {
      for (const auto& slot : group.slots) slot.param.detach().clamp_(-limit_, limit_);
    }
    state.strategy->state_was_loaded();
  }

 private:
  double limit_;
};

struct LastLossConfig {
  std::string file = "last_loss.txt";
};

/// Writes the newest loss into a file of the run's folder when it is flushed.
class LastLoss final : public pl::metrics::MetricSink {
 public:
  explicit LastLoss(std::filesystem::path path) : path_(std::move(path)) {}
  std::string_view name() const override { return "last_loss"; }
  void log_step(const pl::metrics::MetricStep&,
                std::span<const pl::metrics::MetricValue> values) override {
    for (const auto& value : values) {
      if (value.name == "train/loss") loss_ = value.value;
    }
  }
  void log_event(const pl::metrics::MetricStep&, std::string_view,
                 std::span<const pl::metrics::MetricValue>) override {}
  void log_text(const pl::metrics::MetricStep&, std::string_view, std::string_view) override {}
  void log_hparams(std::span<const std::pair<std::string, std::string>>) override {}
  void resume_at(std::int64_t) override {}
  void flush() override {
    if (std::FILE* const file = std::fopen(path_.c_str(), "w"); file != nullptr) {
      std::fprintf(file, "%.6f\n", loss_.load());
      std::fclose(file);
    }
  }

 private:
  std::filesystem::path path_;
  std::atomic<double> loss_ = 0;
};

// How each is made of its options, as `registries.datasets.add<SeriesConfig>()` expects it.

inline std::unique_ptr<pl::data::DatasetPlan> make(const SeriesConfig& config) {
  auto plan = std::make_unique<pl::data::DatasetPlan>();
  plan->open = [config](auto&&...) { return std::make_unique<Series>(config.num_samples); };
  plan->make_samples = [](auto&&...) { return std::make_shared<SeriesMaker>(); };
  return plan;
}

inline std::unique_ptr<pl::nn::Network> make(const LineConfig& config) {
  return std::make_unique<Line>(config);
}

inline std::unique_ptr<pl::train::Task> make(const RegressionConfig&, pl::train::TaskParts& parts) {
  return std::make_unique<Regression>(parts.make_network());
}

inline std::unique_ptr<pl::train::Algorithm> make(const ClampConfig& config) {
  return std::make_unique<Clamp>(config);
}

inline std::unique_ptr<pl::metrics::MetricSink> make(const LastLossConfig& config,
                                                     const pl::loggers::SinkContext& run) {
  return std::make_unique<LastLoss>(run.run_directory / config.file);
}

}  // namespace own
