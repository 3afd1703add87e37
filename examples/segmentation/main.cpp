// Learns the organs of made-up bodies voxel by voxel: a data set, a network and a task that
// paceline does not know. Started as `paceline launch --nproc 2 -- ./segmentation train RECIPE`.

#include <paceline/cli/program.h>
#include <paceline/nn/init.h>
#include <paceline/nn/unit.h>
#include <paceline/volume/phantom.h>

namespace seg {
namespace pl = paceline;

struct PhantomsConfig {
  std::int64_t num_samples = 256;
  std::int64_t size = 16;
  std::uint64_t seed = 0;
};

/// volume::Organ: air, body, lung, heart, spine, liver and lesion.
constexpr int kLabels = 7;
constexpr double kCubeMm = 400;

/// Each body is drawn from its number and the seed when it is asked for, as arrays that transforms
/// of the recipe may move. Those of validation are other numbers.
class Phantoms final : public pl::data::Dataset {
 public:
  Phantoms(const PhantomsConfig& config, pl::data::Split split)
      : config_(config), first_(split == pl::data::Split::kTrain ? 0 : config.num_samples) {}
  std::int64_t size() const override { return config_.num_samples / (first_ == 0 ? 1 : 4); }
  std::string describe(std::int64_t index) const override { return fmt::format("body {}", index); }
  std::string fingerprint() const override {
    return fmt::format("organs-{}-{}-{}", config_.size, config_.seed, first_);
  }
  std::vector<pl::data::FieldSpec> stored_fields() const override { return fields_; }
  void get(std::int64_t index, pl::data::StoredSample& sample) const override {
    sample.bytes.resize(pl::data::sample_bytes(fields_));
    auto* const volume = reinterpret_cast<float*>(sample.bytes.data());
    auto* const organs =
        reinterpret_cast<std::int64_t*>(sample.bytes.data() + pl::data::sample_bytes(fields_[0]));
    const auto number = static_cast<std::uint64_t>(first_ + index);
    const pl::volume::CubeGrid grid{static_cast<int>(config_.size), kCubeMm};
    const auto phantom = pl::volume::draw_phantom(config_.seed, number, kCubeMm);
    std::ranges::transform(pl::volume::voxels_of(phantom, grid), volume,
                           [](float hounsfield) { return hounsfield / 500; });
    std::ranges::copy(pl::volume::labels_of(phantom, grid), organs);
  }

 private:
  PhantomsConfig config_;
  std::int64_t first_;
  std::vector<pl::data::FieldSpec> fields_{
      {"volume", pl::data::FieldType::kFloat32, {1, config_.size, config_.size, config_.size}},
      {"organs", pl::data::FieldType::kInt64, {config_.size, config_.size, config_.size}}};
};

/// A 3D convolution, normalisation and a ReLU: what fsdp gathers at once.
class Block final : public pl::nn::Unit {
 public:
  Block(std::int64_t in, std::int64_t out, std::int64_t stride = 1) : stride_(stride) {
    weight_ = register_parameter("weight", at::empty({out, in, 3, 3, 3}));
    norm_weight_ = register_parameter("norm_weight", at::empty({out}));
    norm_bias_ = register_parameter("norm_bias", at::empty({out}));
  }
  at::Tensor forward(const at::Tensor& input) const {
    return run(input, [this](const at::Tensor& x) {
      const at::Tensor y = at::conv3d(x, weight_, {}, stride_, /*padding=*/1);
      return at::relu(at::group_norm(y, /*num_groups=*/y.size(1), norm_weight_, norm_bias_));
    });
  }

 private:
  std::int64_t stride_;
  at::Tensor weight_, norm_weight_, norm_bias_;
};

struct UNetConfig {
  std::int64_t channels = 8;
};

/// Cicek et al., "3D U-Net", 2016: two levels down and up, what comes up beside what went down.
class UNet final : public pl::nn::Network {
 public:
  explicit UNet(const UNetConfig& config) {
    const std::int64_t c = config.channels;
    const auto add = [&](const char* name, std::int64_t in, std::int64_t out, double shrunk = 1,
                         std::int64_t stride = 1) {
      flops_per_voxel_ += 2.0 * 27 * static_cast<double>(in * out) / shrunk;
      return register_module(name, std::make_shared<Block>(in, out, stride));
    };
    enter_ = add("enter", 1, c);
    down1_ = add("down1", c, 2 * c, 8, 2);
    down2_ = add("down2", 2 * c, 4 * c, 64, 2);
    deepest_ = add("deepest", 4 * c, 4 * c, 64);
    up2_ = add("up2", 6 * c, 2 * c, 8);
    up1_ = add("up1", 3 * c, c);
    head_ = register_parameter("head", at::empty({kLabels, c, 1, 1, 1}));
  }
  at::Tensor forward(const pl::tensor::Fields& inputs, const pl::nn::ForwardContext&) override {
    const auto beside = [](const at::Tensor& coarse, const at::Tensor& fine) {
      return at::cat({at::upsample_nearest3d(coarse, fine.sizes().slice(2)), fine}, 1);
    };
    const at::Tensor whole = enter_->forward(inputs.at("volume"));
    const at::Tensor half = down1_->forward(whole);
    const at::Tensor quarter = deepest_->forward(down2_->forward(half));
    return at::conv3d(up1_->forward(beside(up2_->forward(beside(quarter, half)), whole)), head_);
  }
  void initialize_parameter(const pl::nn::NamedTensor& parameter,
                            const pl::tensor::DrawKey& key) const override {
    if (parameter.tensor.dim() > 1) return pl::nn::kaiming_normal_fan_out(parameter.tensor, key);
    pl::nn::constant(parameter.tensor, parameter.name.ends_with("norm_weight") ? 1 : 0);
  }
  double flops_per_sample(const pl::nn::SampleSizes& sizes) const override {
    const auto found = sizes.find("volume");
    if (found == sizes.end() || found->second.size() != 4 || found->second[0] != 1 ||
        std::ranges::any_of(found->second, [](auto side) { return side % 4 != 0 && side != 1; }))
      throw pl::base::ConfigError(
          "unet3d needs a field volume [1, D, H, W], D, H, W multiples of 4: see data phantoms");
    return flops_per_voxel_ * static_cast<double>(c10::multiply_integers(found->second));
  }

 private:
  std::shared_ptr<Block> enter_, down1_, down2_, deepest_, up2_, up1_;
  at::Tensor head_;
  double flops_per_voxel_ = 0;  ///< without the head's
};

struct SegmentationConfig {};

/// Cross entropy of each voxel, and how well the organs are met: Dice over the voxels of all.
class Segmentation final : public pl::train::Task {
 public:
  explicit Segmentation(std::shared_ptr<pl::nn::Network> network) : Task(std::move(network)) {}
  void check_samples(const pl::train::SampleFacts& samples) const override {
    if (!samples.sizes.contains("organs"))
      throw pl::base::ConfigError("task segmentation needs a field organs: use data phantoms");
    static_cast<void>(
        network().flops_per_sample(samples.sizes));  // throws for what it does not take
  }
  pl::tensor::Fields forward(const pl::train::Batch& batch,
                             const pl::nn::ForwardContext& context) override {
    return {{"scores", network().forward(batch.fields, context)}};
  }
  pl::tensor::Fields predict(const pl::train::Batch& batch,
                             const pl::nn::ForwardContext& context) override {
    const at::Tensor scores = network().forward(batch.fields, context);
    return {{"organs", scores.argmax(1).to(at::kByte)}};
  }
  at::Tensor loss(const pl::tensor::Fields& outputs, const pl::train::Batch& batch) override {
    const at::Tensor voxels = at::cross_entropy_loss(
        outputs.at("scores"), batch.fields.at("organs"), {}, at::Reduction::None);
    return voxels.flatten(1).mean(1).sum();
  }
  std::span<const pl::train::Metric> metrics() const override { return metrics_; }
  bool can_be_recorded() const override { return true; }
  std::int64_t num_sums() const override { return 4; }
  at::Tensor sums(const pl::tensor::Fields& outputs, const pl::train::Batch& batch) override {
    const at::Tensor& organs = batch.fields.at("organs");
    const at::Tensor guess = outputs.at("scores").detach().argmax(1);
    const at::Tensor right = guess == organs;
    const at::Tensor is_organ = organs >= 2;  // 1 is the body
    return at::stack({right.sum(), at::ones_like(organs).sum(), 2 * (right & is_organ).sum(),
                      (guess >= 2).sum() + is_organ.sum()})
        .to(at::kDouble);
  }

 private:
  std::vector<pl::train::Metric> metrics_{{"accuracy", 0, 1}, {"dice", 2, 3}};
};

// How each is made of its options.
std::unique_ptr<pl::data::DatasetPlan> make(const PhantomsConfig& config) {
  auto plan = std::make_unique<pl::data::DatasetPlan>();
  plan->open = [=](auto split, auto&&...) { return std::make_unique<Phantoms>(config, split); };
  plan->may_store_fields = true;
  return plan;
}

std::unique_ptr<pl::nn::Network> make(const UNetConfig& config) {
  return std::make_unique<UNet>(config);
}

std::unique_ptr<pl::train::Task> make(const SegmentationConfig&, pl::train::TaskParts& parts) {
  return std::make_unique<Segmentation>(parts.make_network());
}

}  // namespace seg

template <>
struct paceline::config::Schema<seg::PhantomsConfig> {
  using Config = seg::PhantomsConfig;
  static constexpr std::string_view name = "phantoms";
  static constexpr std::string_view summary = "Made-up bodies and the labels of their voxels.";
  static constexpr auto fields = std::tuple{
      field(&Config::num_samples, "num_samples", "How many; a quarter more validate.", AtLeast{4}),
      field(&Config::size, "size", "Voxels per side.", InRange{8, 512}),
      field(&Config::seed, "seed", "What they are drawn from.")};
};
template <>
struct paceline::config::Schema<seg::UNetConfig> {
  static constexpr std::string_view name = "unet3d";
  static constexpr std::string_view summary = "A 3D U-Net of three levels.";
  static constexpr auto fields = std::tuple{
      field(&seg::UNetConfig::channels, "channels", "Of the finest level.", InRange{1, 1024})};
};
template <>
struct paceline::config::Schema<seg::SegmentationConfig> {
  static constexpr std::string_view name = "segmentation";
  static constexpr std::string_view summary = "Tells each voxel's label.";
  static constexpr auto fields = std::tuple{};
};

int main(int argc, char** argv) {
  return paceline::cli::run_program(argc, argv, [](paceline::app::Registries& registries) {
    registries.datasets.add<seg::PhantomsConfig>();
    registries.models.add<seg::UNetConfig>();
    registries.tasks.add<seg::SegmentationConfig>();
  });
}
