#pragma once

#include "paceline/algorithms/microbatch/images.h"
#include "paceline/algorithms/microbatch/index_sender.h"
#include "paceline/algorithms/microbatch/sample_group.h"
#include "paceline/config/schema.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::algorithms {

struct ColoutConfig {
  double p_row = 0.15;  ///< share of rows that are dropped
  double p_col = 0.15;
  std::optional<std::int64_t> group = {};  ///< samples that share a draw; nothing: the microbatch
};

/// Rows and columns of an image, each in order.
struct KeptLines {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
};

/// The size of what is kept, rounded down.
nn::ImageSize kept_size(const ColoutConfig& config, nn::ImageSize image);

/// The first `count` of lines in a drawn order, in their own.
std::vector<std::int64_t> first_sorted(std::vector<std::int64_t> lines, std::int64_t count);

KeptLines draw_lines(const ColoutConfig& config, const SampleGroup& group, nn::ImageSize image);

/// Rows and columns (int64, beside the images) of images [N, channels, height, width], in their
/// layout.
at::Tensor thinned(const at::Tensor& images, const at::Tensor& rows, const at::Tensor& columns);

/// Drops rows and columns of the images, which get smaller: the same ones for the samples of a
/// group. Draws are keyed as Mixing's. For networks that take images of any size.
class Colout final : public train::Algorithm {
 public:
  explicit Colout(const ColoutConfig& config) : config_(config) {}

  std::string_view name() const override { return "colout"; }
  train::AlgorithmTraits traits() const override {
    return {.events = {train::Event::kStepStart},
            .order = kColoutOrder,
            .transforms_batches = true,
            .may_come_or_go = true};
  }
  /// The smaller images: the loader's stay as they are.
  std::uint64_t copied_bytes(const train::TrainState& state,
                             const train::FieldBytes& field_bytes) const override;
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  /// Throws ConfigError for a batch without images, with another field of their size, or with
  /// images of which nothing is left, and what the task throws for images of the smaller size.
  void transform(train::Batch& batch, train::TrainState& state,
                 const train::RunContext& run) override;

 private:
  /// Throws what transform() does. Only where sizes are new is the task asked.
  void check_size(const train::Batch& batch, const train::TrainState& state);

  ColoutConfig config_;
  nn::ImageSize checked_ = {};
  IndexSender sender_;
};

std::unique_ptr<train::Algorithm> make(const ColoutConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::ColoutConfig> {
  using Config = paceline::algorithms::ColoutConfig;
  static constexpr std::string_view name = "colout";
  static constexpr std::string_view summary =
      "Drops rows and columns of the images, the same ones for a microbatch; the network must take "
      "smaller images.";
  static constexpr std::string_view paper = "Composer's ColOut";
  static constexpr auto fields =
      std::tuple{field(&Config::p_row, "p_row", "Share of the rows that are dropped.", AtLeast{0},
                       LessThan{1}),
                 field(&Config::p_col, "p_col", "Share of the columns that are dropped.",
                       AtLeast{0}, LessThan{1}),
                 algorithms::group_field<Config>()};
};
