// A user's own network and data set with paceline's loader, strategy, optimizer, schedule and
// trainer.

#include <atomic>
#include <cstdio>

#include <paceline/comm/c10d/bootstrap.h>
#include <paceline/data/loader/loader.h>
#include <paceline/data/loader/sample_maker.h>
#include <paceline/data/transforms/named/geometry/center_crop.h>
#include <paceline/data/transforms/named/geometry/random_horizontal_flip.h>
#include <paceline/data/transforms/pipeline.h>
#include <paceline/nn/conv.h>
#include <paceline/nn/image_network.h>
#include <paceline/nn/linear.h>
#include <paceline/nn/losses.h>
#include <paceline/optim/schedules.h>
#include <paceline/optim/sgd.h>
#include <paceline/parallel/replicated/replicated_strategy.h>
#include <paceline/tensor/draws.h>
#include <paceline/train/tasks/classification.h>
#include <paceline/train/trainer.h>

namespace pl = paceline;

namespace {

/// Images of one grey level; the class says whether it is dark or bright.
class Greys final : public pl::data::Dataset {
 public:
  std::int64_t size() const override { return 256; }
  int num_classes() const override { return 2; }
  std::vector<std::string> class_names() const override { return {"dark", "bright"}; }
  std::int64_t label(std::int64_t index) const override { return index % 2; }
  void get(std::int64_t index, pl::data::StoredSample& sample) const override {
    const int level = static_cast<int>(index % 100) + (label(index) == 1 ? 150 : 0);
    sample.width = sample.height = 8;
    sample.label = label(index);
    sample.bytes.assign(8 * 8 * 3, static_cast<std::uint8_t>(level));
  }
  std::string describe(std::int64_t index) const override {
    return "grey " + std::to_string(index);
  }
  std::string fingerprint() const override { return "greys-1"; }
};

class Net final : public pl::nn::ImageNetwork {
 public:
  Net() {
    conv_ =
        register_module("conv", std::make_shared<pl::nn::Conv2d>(
                                    3, 4, 3, pl::nn::Conv2d::Options{.padding = 1, .bias = true}));
    fc_ = register_module("fc", std::make_shared<pl::nn::Linear>(4, 2));
  }
  at::Tensor forward_images(const at::Tensor& images, const pl::nn::ForwardContext&) override {
    return fc_->forward(conv_->forward(images).relu().mean({2, 3}));
  }
  void initialize_parameter(const pl::nn::NamedTensor& parameter,
                            const pl::tensor::DrawKey& key) const override {
    pl::tensor::fill_uniform(parameter.tensor, -0.3, 0.3, key);
  }
  double flops_per_image(std::int64_t height, std::int64_t width) const override {
    return 2.0 * 27 * 4 * static_cast<double>(height * width);
  }
  std::vector<std::string> head_names() const override { return {"fc"}; }

 private:
  std::shared_ptr<pl::nn::Conv2d> conv_;
  std::shared_ptr<pl::nn::Linear> fc_;
};

}  // namespace

int main() {
  const Greys greys;
  const pl::data::TransformPipeline pipeline({pl::data::RandomHorizontalFlipConfig{},
                                              pl::data::CenterCropConfig{.size = 8},
                                              pl::data::NormalizeConfig{}});
  const auto loader = pl::data::make_data_loader(greys, pl::data::make_images(pipeline),
                                                 {.seed = 1, .global_batch_size = 32});
  const auto communicator = pl::comm::connect({});
  const std::atomic<int> no_signal{0};

  pl::train::TrainState state;
  state.clock.lengths = {
      .total_steps = 40, .steps_per_epoch = loader->batches_per_epoch(), .samples_per_step = 32};
  auto network = std::make_shared<Net>();
  network->initialize(1);
  state.task = std::make_unique<pl::train::ClassificationTask>(
      network, std::make_shared<pl::nn::CrossEntropy>(pl::nn::CrossEntropyConfig{}));
  state.strategy = pl::parallel::make_none({});
  const pl::optim::SgdConfig sgd{.lr = 0.1};
  state.strategy->prepare(*network, pl::optim::weight_decay_rules(sgd.weight_decay, false, {}));
  state.optimizer = pl::optim::make_optimizer(sgd, state.strategy->param_groups());
  const auto schedule = pl::optim::make(pl::optim::CosineConfig{}, state.clock.lengths);

  pl::train::Engine engine({}, {});
  const pl::train::RunContext run{*communicator, {}, 1, {}, no_signal};
  pl::train::TrainerConfig config;
  config.duration = {{{40, pl::config::TimeUnit::kBatch}}};
  pl::train::Trainer trainer({state, run, engine, *loader, *schedule, sgd.lr}, config);
  trainer.fit();

  const double loss = state.step_totals.mean_loss();
  std::printf("loss of the last step: %.4f\n", loss);
  return loss < 0.2 ? 0 : 1;
}
