// Against torch's communication hooks; see make_compression.py.

#include "paceline/parallel/replicated/gradient_compression.h"
#include "support/run_ranks.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::parallel {
namespace {

using Json = nlohmann::json;
using Shape = std::vector<std::int64_t>;

constexpr int kGoldenRanks = 2;
constexpr int kGoldenSteps = 6;
constexpr int kGoldenStart = 2;
const std::vector<int> kKeptSteps{1, 2, 5};
const std::vector<Shape> kShapes{{16, 24}, {12}, {8, 3, 2, 2}, {2, 3}};

at::Tensor golden_wave(const Shape& shape, double phase) {
  at::Tensor values = at::empty(shape, at::kDouble);
  double* element = values.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const auto number = static_cast<double>(i);
    element[i] = std::sin(0.7 * number * (1 + 0.01 * number) + phase);
  }
  return values;
}

/// The number of a parameter in kShapes, which is its name.
double number_of(const std::string& name) { return std::stod(name.substr(name.rfind('/') + 1)); }

/// One bucket of gradients.
class GoldenBucket {
 public:
  explicit GoldenBucket(const std::string& dtype)
      : arena_(layout(dtype), at::zeros({1}, dtype == "float64" ? at::kDouble : at::kFloat)) {}

  const tensor::Arena& arena() const { return arena_; }
  void set(int step, int rank) {
    for (std::size_t slot = 0; slot < kShapes.size(); ++slot) {
      const double number = number_of(arena_.layout().slots[slot].spec.name);
      const at::Tensor gradient =
          golden_wave(arena_.layout().slots[slot].spec.sizes, 10.0 * step + 3.0 * rank + number);
      arena_.slot(slot).copy_(gradient.to(arena_.slot(slot).scalar_type()) / kGoldenRanks);
    }
  }
  /// One behind the other, in the order of kShapes.
  at::Tensor all() const {
    std::vector<at::Tensor> parts(kShapes.size());
    for (std::size_t slot = 0; slot < kShapes.size(); ++slot) {
      const double number = number_of(arena_.layout().slots[slot].spec.name);
      parts[static_cast<std::size_t>(number)] = arena_.slot(slot).reshape({-1}).to(at::kDouble);
    }
    return at::cat(parts);
  }

 private:
  static tensor::FlatLayout layout(const std::string& dtype) {
    std::vector<tensor::TensorSpec> specs;
    for (const Shape& shape : kShapes) {
      Shape strides(shape.size(), 1);
      for (std::size_t i = shape.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * shape[i + 1];
      specs.push_back({std::to_string(specs.size()), dtype, shape, strides, 0});
    }
    return tensor::FlatLayout::build(specs, {.first_bucket_bytes = 1 << 20});
  }

  tensor::Arena arena_;
};

void expect_near(const at::Tensor& actual, const Json& golden, double tolerance) {
  const at::Tensor expected = at::tensor(golden.get<std::vector<double>>(), at::kDouble);
  ASSERT_EQ(actual.numel(), expected.numel());
  EXPECT_LE((actual.reshape({-1}) - expected).abs().max().item<double>(), tolerance);
}

void expect_power_sgd(const Json& golden, comm::Communicator& communicator) {
  GoldenBucket gradients("float64");
  const auto compression =
      make_compression({.compression = Compression::kPowerSgd,
                        .powersgd_rank = golden.at("approximation_rank").get<int>(),
                        .powersgd_start = kGoldenStart},
                       gradients.arena(), communicator);
  for (const tensor::StateShard& shard : compression->state()) {
    if (!shard.name.starts_with("compression.q/")) continue;
    shard.data.copy_(golden_wave(shard.shape, 100.0 + number_of(shard.name)));
  }
  auto kept = golden.at("means").begin();
  for (int step = 0; step < kGoldenSteps; ++step) {
    gradients.set(step, communicator.rank());
    compression->all_reduce(0)->wait();
    if (std::ranges::find(kKeptSteps, step) != kKeptSteps.end()) {
      expect_near(gradients.all(), *kept++, 1e-9);
    }
  }
  if (communicator.rank() != 0) return;
  const std::vector<int> compressed = golden.at("compressed");
  std::size_t num_errors = 0;
  for (const tensor::StateShard& shard : compression->state()) {
    if (!shard.name.starts_with("compression.error/")) continue;
    const auto place = std::ranges::find(compressed, static_cast<int>(number_of(shard.name)));
    ASSERT_NE(place, compressed.end()) << shard.name;
    // Ours are of shares of the mean.
    expect_near(shard.data * kGoldenRanks, golden.at("errors").at(place - compressed.begin()),
                1e-9);
    ++num_errors;
  }
  EXPECT_EQ(num_errors, compressed.size());
}

TEST(CompressionGolden, PowerSgdGivesTorchsMeansAndErrors) {
  const Json golden = Json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/compression.json"));
  ASSERT_EQ(golden.at("powersgd").size(), 2U);
  for (const Json& of_rank : golden.at("powersgd")) {
    test::run_ranks(kGoldenRanks, [&](comm::Communicator& communicator) {
      expect_power_sgd(of_rank, communicator);
    });
  }
}

TEST(CompressionGolden, CastsGiveTorchsBits) {
  const Json golden = Json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/compression.json"));
  const std::map<std::string, Compression> kinds{{"fp16", Compression::kFloat16},
                                                 {"bf16", Compression::kBFloat16}};
  for (const auto& [name, kind] : kinds) {
    test::run_ranks(kGoldenRanks, [&](comm::Communicator& communicator) {
      GoldenBucket gradients("float32");
      gradients.set(0, communicator.rank());
      make_compression({.compression = kind}, gradients.arena(), communicator)
          ->all_reduce(0)
          ->wait();
      expect_near(gradients.all(), golden.at(name), 1e-10);
    });
  }
}

}  // namespace
}  // namespace paceline::parallel
