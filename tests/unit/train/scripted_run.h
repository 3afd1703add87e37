#pragma once

#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/sources/synthetic.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/normalize.h"
#include "paceline/data/transforms/pipeline.h"
#include "paceline/nn/image_network.h"
#include "paceline/train/checkpoint_saver.h"
#include "paceline/train/evaluator.h"
#include "paceline/train/trainer.h"

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace paceline::test {

using Calls = std::vector<std::string>;

/// One weight; its output is not looked at.
class OneWeight final : public nn::ImageNetwork {
 public:
  OneWeight() { weight = register_parameter("weight", at::ones({1, 2})); }
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    return at::zeros({images.size(0), 1}, images.options());
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
  std::vector<std::string> head_names() const override { return {"fc"}; }

  at::Tensor weight;
};

/// A task whose losses a test writes down. It counts "seen": every sample.
class ScriptedTask final : public train::Task {
 public:
  ScriptedTask() : Task(std::make_shared<OneWeight>()) {}
  void check_samples(const train::SampleFacts&) const override {}
  tensor::Fields forward(const train::Batch& batch, const nn::ForwardContext& context) override {
    first_positions.push_back(context.first_position);
    return {{"zeros", network().forward(batch.fields, context)}};
  }
  at::Tensor loss(const tensor::Fields&, const train::Batch& batch) override {
    return at::scalar_tensor(is_training ? train_loss(batch) : eval_loss(batch), at::kDouble);
  }
  std::span<const train::Metric> metrics() const override { return metrics_; }
  std::int64_t num_sums() const override { return 1; }
  at::Tensor sums(const tensor::Fields&, const train::Batch& batch) override {
    return at::full({1}, batch.size, batch.fields.at(train::kImages).options().dtype(at::kDouble));
  }
  void set_training(bool training) override { is_training = training; }
  bool can_be_recorded() const override { return is_recordable; }
  std::unique_ptr<train::EvalMeasure> measure_evaluation(bool classes) const override {
    return measure ? measure(classes) : nullptr;
  }

  /// One that names the first sample of the batch that it is of.
  std::vector<metrics::Picture> pictures(const tensor::Fields&,
                                         const train::Batch& batch) const override {
    return {{fmt::format("sample {}", batch.indices.front()), 1, 1, {1, 2, 3}}};
  }

  /// Sums over the samples of a batch.
  std::function<double(const train::Batch&)> train_loss = [](const train::Batch& batch) {
    return 2.0 * static_cast<double>(batch.size);
  };
  std::function<double(const train::Batch&)> eval_loss = train_loss;
  std::function<std::unique_ptr<train::EvalMeasure>(bool classes)> measure;
  bool is_training = true;
  bool is_recordable = true;
  std::vector<std::int64_t> first_positions;  ///< of every forward pass

 private:
  std::array<train::Metric, 1> metrics_{train::Metric{"seen", 0}};
};

/// Writes down what it is asked to do. Its gradients have twice the norm of the sum that backward
/// was given.
class RecordingStrategy final : public parallel::Strategy {
 public:
  /// `overflows` tells whether the gradients at hand do.
  explicit RecordingStrategy(
      Calls& calls, std::function<bool()> overflows = [] { return false; })
      : calls_(calls), overflows_(std::move(overflows)) {}
  std::string_view name() const override { return "recording"; }
  void prepare(torch::nn::Module&, std::span<const optim::GroupRule>,
               const parallel::FillValues&) override {}
  std::span<const nn::NamedTensor> parameters() const override { return {}; }
  std::vector<optim::ParamGroup> param_groups() override { return {}; }
  optim::ParameterShards parameter_shards() const override { return {}; }
  void begin_microbatch(bool is_first, bool is_last) override {
    if (is_first) exposed_s_ = 0;
    if (is_first) gradients_.front().zero_();
    exposed_s_ += exposed_in_forward_s;
    calls_.push_back(
        fmt::format("microbatch{}{}", is_first ? " first" : "", is_last ? " last" : ""));
  }
  void backward(const at::Tensor& loss, double weight) override {
    exposed_s_ += exposed_in_backward_s;
    const double sum = loss.item<double>() * weight;
    calls_.push_back(fmt::format("backward {:.4f}", sum));
    gradients_.front().add_(at::tensor({1.6 * sum, 1.2 * sum}, at::kFloat));
  }
  void backward_nothing() override { calls_.push_back("backward nothing"); }
  void finish_gradients() override {
    calls_.push_back("finish");
    if (overflows_()) gradients_.front().fill_(std::numeric_limits<double>::infinity());
  }
  parallel::MissingGradients missing_gradients() const override { return missing; }
  std::span<const at::Tensor> gradients() override { return gradients_; }
  void reduce_over_shards(const at::Tensor&, comm::ReduceOp,
                          std::string_view label) const override {
    calls_.push_back(fmt::format("reduce {}", label));
  }
  void synchronise_buffers() override {}
  void forward_nothing() override { calls_.push_back("forward nothing"); }
  std::vector<tensor::StateShard> model_state() const override { return {}; }
  std::vector<tensor::StateShard> cut_by_parameter(const std::string&,
                                                   std::span<const at::Tensor>) const override {
    return {};
  }
  void state_was_loaded() override {}
  parallel::StrategyMemory memory(int) const override { return {}; }
  bool can_be_recorded() const override { return is_recordable; }
  double exposed_communication_s() const override { return exposed_s_; }
  parallel::CommunicationReport communication_report() const override { return report; }

  double exposed_in_forward_s = 0;
  double exposed_in_backward_s = 0;
  bool is_recordable = true;
  parallel::MissingGradients missing;
  parallel::CommunicationReport report;

 protected:
  void freeze(const std::set<std::string>&) override {}

 private:
  double exposed_s_ = 0;
  std::array<at::Tensor, 1> gradients_{at::zeros({2})};
  Calls& calls_;
  std::function<bool()> overflows_;
};

class RecordingOptimizer final : public optim::Optimizer {
 public:
  explicit RecordingOptimizer(Calls& calls) : calls_(calls) {}
  std::string_view name() const override { return "recording"; }
  void step(double lr, const at::Tensor& skip) override {
    ++num_steps_;
    calls_.push_back(
        fmt::format("step at {:g}{}", lr, skip.defined() && skip.is_nonzero() ? ", skipped" : ""));
  }
  std::vector<optim::SlotState> state() const override { return {}; }
  std::int64_t num_steps() const override { return num_steps_; }
  void set_num_steps(std::int64_t num_steps) override { num_steps_ = num_steps; }
  std::vector<optim::ParamGroup>& groups() override { return groups_; }

 private:
  Calls& calls_;
  std::int64_t num_steps_ = 0;
  std::vector<optim::ParamGroup> groups_;
};

/// Half the base learning rate from step 2 on.
class HalfFromStepTwo final : public optim::Schedule {
 public:
  std::string_view name() const override { return "half_from_step_two"; }
  double factor(std::int64_t step) const override { return step < 2 ? 1.0 : 0.5; }
};

inline train::EventSet all_events() {
  using enum train::Event;
  return {kInit,
          kPrepared,
          kFitStart,
          kEpochStart,
          kStepStart,
          kBeforeForward,
          kAfterForward,
          kBeforeLoss,
          kAfterLoss,
          kBeforeBackward,
          kAfterBackward,
          kGradientsReady,
          kBeforeOptimizerStep,
          kAfterOptimizerStep,
          kStepEnd,
          kEpochEnd,
          kEvalStart,
          kEvalEnd,
          kEvaluated,
          kSafePoint,
          kFitEnd,
          kException};
}

inline constexpr std::array<std::string_view, train::kNumEvents> kEventNames{
    "init",
    "prepared",
    "fit_start",
    "epoch_start",
    "step_start",
    "before_forward",
    "after_forward",
    "before_loss",
    "after_loss",
    "before_backward",
    "after_backward",
    "gradients_ready",
    "before_optimizer_step",
    "after_optimizer_step",
    "step_end",
    "epoch_end",
    "eval_start",
    "eval_end",
    "evaluated",
    "safe_point",
    "fit_end",
    "exception"};

/// Calls a function at every event.
class Watcher final : public train::Callback {
 public:
  using Function =
      std::function<std::optional<std::string>(train::Event, const train::TrainState&)>;
  Watcher(Function function, train::EventSet events)
      : function_(std::move(function)), events_(events) {}
  std::string_view name() const override { return "watcher"; }
  train::CallbackTraits traits() const override { return {.events = events_}; }
  std::optional<std::string> on_event(train::Event event, const train::TrainState& state,
                                      const train::RunContext&) override {
    return function_(event, state);
  }

 private:
  Function function_;
  train::EventSet events_;
};

/// Keeps what is logged.
class RecordingSink final : public metrics::MetricSink {
 public:
  using Values = std::map<std::string, double>;
  std::string_view name() const override { return "recording"; }
  void log_step(const metrics::MetricStep& at,
                std::span<const metrics::MetricValue> values) override {
    steps.emplace_back(at, copy(values));
  }
  void log_event(const metrics::MetricStep& at, std::string_view event,
                 std::span<const metrics::MetricValue> values) override {
    event_name = event;
    events.emplace_back(at, copy(values));
  }
  void log_text(const metrics::MetricStep&, std::string_view, std::string_view value) override {
    text = value;
  }
  void log_picture(const metrics::MetricStep& at, const metrics::Picture& picture) override {
    pictures.emplace_back(at, picture);
  }
  void log_hparams(std::span<const std::pair<std::string, std::string>>) override {}
  void resume_at(std::int64_t) override {}
  void flush() override {}

  std::vector<std::pair<metrics::MetricStep, Values>> steps;
  std::vector<std::pair<metrics::MetricStep, Values>> events;
  std::vector<std::pair<metrics::MetricStep, metrics::Picture>> pictures;
  std::string event_name;
  std::string text;

 private:
  static Values copy(std::span<const metrics::MetricValue> values) {
    Values result;
    for (const metrics::MetricValue& value : values) result[std::string(value.name)] = value.value;
    return result;
  }
};

/// Small synthetic images, of which some are cut short.
class DamagedImages final : public data::Dataset {
 public:
  DamagedImages(std::int64_t num_samples, std::set<std::int64_t> damaged)
      : images_(num_samples, 3, 2, 0), damaged_(std::move(damaged)) {}
  std::int64_t size() const override { return images_.size(); }
  int num_classes() const override { return images_.num_classes(); }
  std::vector<std::string> class_names() const override { return images_.class_names(); }
  std::int64_t label(std::int64_t index) const override { return images_.label(index); }
  void get(std::int64_t index, data::StoredSample& sample) const override {
    images_.get(index, sample);
    if (damaged_.contains(index)) sample.bytes.pop_back();
  }
  std::string describe(std::int64_t index) const override { return fmt::format("{}.jpg", index); }
  std::string fingerprint() const override { return images_.fingerprint(); }

 private:
  data::SyntheticDataset images_;
  std::set<std::int64_t> damaged_;
};

/// A loader that was asked to stop while it waited for the batch at a position.
class StoppedLoader final : public data::DataLoader {
 public:
  /// `ask` is called then.
  StoppedLoader(std::unique_ptr<data::DataLoader> loader, std::int64_t position,
                std::function<void()> ask)
      : loader_(std::move(loader)), position_(position), ask_(std::move(ask)) {}
  std::int64_t batches_per_epoch() const override { return loader_->batches_per_epoch(); }
  std::int64_t position() const override { return loader_->position(); }
  void seek(std::int64_t position) override { loader_->seek(position); }
  void start() override { loader_->start(); }
  bool is_ready() const override { return position() != position_ && loader_->is_ready(); }
  std::unique_ptr<data::HostBatch> next() override {
    if (position() != position_) return loader_->next();
    ask_();
    throw base::Interrupted(SIGTERM, "waiting before the batch is read again");
  }
  data::LoaderCounts counts() const override { return loader_->counts(); }
  std::int64_t global_count_of(std::int64_t position) const override {
    return loader_->global_count_of(position);
  }

 private:
  std::unique_ptr<data::DataLoader> loader_;
  std::int64_t position_;
  std::function<void()> ask_;
};

/// A loader of this rank's small images, with a data set of its own; it skips damaged ones.
class OwnedLoader {
 public:
  OwnedLoader(std::int64_t num_samples, std::int64_t batch_size, bool is_training,
              const comm::Communicator& communicator, std::set<std::int64_t> damaged = {},
              tensor::Device& device = tensor::cpu_device())
      : dataset_(num_samples, std::move(damaged)) {
    data::LoaderOptions options;
    options.allocator = [&device](std::size_t bytes) { return device.allocate_host(bytes); };
    options.on_error = data::OnError::kSkip;
    options.is_training = is_training;
    options.global_batch_size = batch_size;
    options.rank = communicator.rank();
    options.world_size = communicator.world_size();
    loader_ = data::make_data_loader(dataset_, data::make_images(pipeline_), options);
  }
  data::DataLoader& operator*() { return *loader_; }
  /// Has a signal come while the batch at this position is waited for.
  void stop_at(std::int64_t position, std::atomic<int>& signal) {
    loader_ = std::make_unique<StoppedLoader>(std::move(loader_), position,
                                              [&signal] { signal = SIGTERM; });
  }

 private:
  DamagedImages dataset_;
  data::TransformPipeline pipeline_{{data::CenterCropConfig{.size = 2}, data::NormalizeConfig{}}};
  std::unique_ptr<data::DataLoader> loader_;
};

/// A run of which everything but the trainer, the evaluator and the loaders is scripted: 8 samples
/// in batches of 4, 3 samples to evaluate, 3 steps, evaluation after each epoch of 2.
struct ScriptedRun {
  /// The communicator must outlive the run.
  explicit ScriptedRun(comm::Communicator& ranks, std::int64_t num_samples = 8,
                       std::int64_t batch_size = 4, std::set<std::int64_t> damaged = {},
                       tensor::Device& on = tensor::cpu_device())
      : communicator(ranks),
        device(&on),
        train_loader(num_samples, batch_size, true, ranks, std::move(damaged), on),
        val_loader(3, batch_size, false, ranks, {}, on) {
    state.task = std::make_unique<ScriptedTask>();
    state.strategy = std::make_unique<RecordingStrategy>(calls, [this] { return overflows(); });
    state.optimizer = std::make_unique<RecordingOptimizer>(calls);
    state.clock.lengths.steps_per_epoch = (*train_loader).batches_per_epoch();
    state.clock.lengths.samples_per_step = batch_size;
    config.duration = {{{3, config::TimeUnit::kBatch}}};
  }

  /// Trains in fp16 from here on.
  void scale_loss(const optim::GradScalerConfig& scaler) {
    config.precision = train::Precision::kFloat16;
    state.scaler.emplace(scaler);
  }

  RecordingStrategy& strategy() { return static_cast<RecordingStrategy&>(*state.strategy); }
  ScriptedTask& task() { return static_cast<ScriptedTask&>(*state.task); }

  train::FitResult fit(train::CheckpointSaver* saver = nullptr) {
    std::vector<std::unique_ptr<train::Callback>> callbacks;
    callbacks.push_back(std::make_unique<Watcher>(watch, watched));
    train::Engine engine(make_algorithms(), std::move(callbacks));
    metrics::MetricSink* const sinks[] = {&sink};
    const train::RunContext run{communicator, {}, 1, sinks, signal, *device};
    train::Evaluator evaluator(*val_loader, "val");
    return train::Trainer(
               {.state = state,
                .run = run,
                .engine = engine,
                .loader = *train_loader,
                .schedule = schedule,
                .base_lr = 0.1,
                .evaluator = &evaluator,
                .saver = saver,
                .is_forward_collective = is_forward_collective,
                .max_skipped = max_skipped,
                .first_step_done = [&](std::int64_t step) { first_steps.push_back(step); }},
               config)
        .fit();
  }

  comm::Communicator& communicator;
  std::atomic<int> signal{0};
  tensor::Device* device;
  OwnedLoader train_loader;
  OwnedLoader val_loader;
  train::TrainState state;
  train::TrainerConfig config;
  bool is_forward_collective = false;
  std::int64_t max_skipped = train::SkipLimit::kNone;
  HalfFromStepTwo schedule;
  RecordingSink sink;
  Calls calls;                            ///< of strategy and optimizer
  std::vector<std::int64_t> first_steps;  ///< of every start, as the trainer tells them
  std::function<bool()> overflows = [] { return false; };
  /// Of each start.
  std::function<std::vector<std::unique_ptr<train::Algorithm>>()> make_algorithms = [] {
    return std::vector<std::unique_ptr<train::Algorithm>>();
  };
  train::EventSet watched = all_events();
  Watcher::Function watch = [](train::Event, const train::TrainState&) { return std::nullopt; };
};

}  // namespace paceline::test
