#pragma once

#include "paceline/algorithms/microbatch/box.h"
#include "paceline/algorithms/microbatch/images.h"
#include "paceline/algorithms/microbatch/sample_group.h"
#include "paceline/config/schema.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::algorithms {

struct CutoutConfig {
  std::int64_t num_holes = 1;
  double length = 0.5;            ///< of a hole's side, as a share of the image's shorter one
  bool uniform_sampling = false;  ///< as centre_range()
  std::optional<std::int64_t> group = {};  ///< samples that share a draw; nothing: the microbatch
};

/// Of a hole, before it is cut off at borders.
nn::ImageSize hole_size(double length, nn::ImageSize image);

/// The holes of a group's images.
std::vector<Box> draw_holes(const CutoutConfig& config, const SampleGroup& group,
                            nn::ImageSize image);

/// Sets the holes of images [N, channels, height, width] to 0.
void cut_holes(const at::Tensor& images, std::span<const Box> holes);

/// Sets squares of the images to 0, which after normalisation is the mean colour: the same ones for
/// the samples of a group. Draws are keyed as Mixing's. Paper: DeVries and Taylor, "Improved
/// regularization of convolutional neural networks with cutout", 2017.
class Cutout final : public train::Algorithm {
 public:
  explicit Cutout(const CutoutConfig& config) : config_(config) {}

  std::string_view name() const override { return "cutout"; }
  train::AlgorithmTraits traits() const override {
    return {
        .events = {}, .order = kCutoutOrder, .transforms_batches = true, .may_come_or_go = true};
  }
  /// The images with holes: the loader's stay as they are.
  std::uint64_t copied_bytes(const train::TrainState& /*state*/,
                             const train::FieldBytes& field_bytes) const override {
    return bytes_of_images(field_bytes);
  }
  void apply(train::Event, train::TrainState&, const train::RunContext&) override {}
  /// Throws ConfigError for a batch without images.
  void transform(train::Batch& batch, train::TrainState& state,
                 const train::RunContext& run) override;

 private:
  CutoutConfig config_;
};

std::unique_ptr<train::Algorithm> make(const CutoutConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::CutoutConfig> {
  using Config = paceline::algorithms::CutoutConfig;
  static constexpr std::string_view name = "cutout";
  static constexpr std::string_view summary =
      "Sets squares of the images to the mean colour, at one place for a microbatch.";
  static constexpr std::string_view paper = "DeVries and Taylor, 2017";
  static constexpr auto fields = std::tuple{
      field(&Config::num_holes, "num_holes", "Squares in an image; they may overlap.", AtLeast{1},
            AtMost{1000, "nothing would be left"}),
      field(
          &Config::length, "length",
          "Side of a square, as a share of the image's shorter side; what lies beyond the borders "
          "is cut off.",
          MoreThan{0}, AtMost{1}),
      algorithms::uniform_sampling_field<Config>(), algorithms::group_field<Config>()};
};
