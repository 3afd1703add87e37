#include "paceline/app/assembly/class_balance.h"

#include "paceline/base/error.h"
#include "paceline/nn/losses/focal.h"
#include "paceline/nn/losses/poly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

/// Samples that are labels alone.
class Labels final : public data::Dataset {
 public:
  Labels(std::vector<std::int64_t> labels, int num_classes)
      : labels_(std::move(labels)), num_classes_(num_classes) {}
  std::int64_t size() const override { return std::ssize(labels_); }
  int num_classes() const override { return num_classes_; }
  std::vector<std::string> class_names() const override { return {}; }
  std::int64_t label(std::int64_t index) const override {
    return labels_.at(static_cast<std::size_t>(index));
  }
  void get(std::int64_t, data::StoredSample&) const override {
    throw base::DataError("nothing is read");
  }
  std::string describe(std::int64_t index) const override { return std::to_string(index); }
  std::string fingerprint() const override { return "labels"; }

 private:
  std::vector<std::int64_t> labels_;
  int num_classes_;
};

TEST(ClassBalance, RareClassesCountAsMuchAsOthers) {
  EXPECT_THAT(balanced_class_weights(Labels({0, 0, 0, 1, 3, 0, -100, 3, 0}, 4)),
              ::testing::Pointwise(::testing::DoubleEq(),
                                   {8.0 / (3 * 5), 8.0 / (3 * 1), 1.0, 8.0 / (3 * 2)}));
}

TEST(ClassBalance, IsWantedUntilTheWeightsAreKnown) {
  const auto wants = [](const nn::FocalConfig& config) {
    return wants_class_balance(config::Component::of("focal", config));
  };
  EXPECT_FALSE(wants({}));
  EXPECT_TRUE(wants({.balance_classes = true}));
  EXPECT_FALSE(wants({.class_weights = {1, 2}, .balance_classes = true}));
  EXPECT_FALSE(wants_class_balance(config::Component::of("poly", nn::PolyConfig{})));
}

}  // namespace
}  // namespace paceline::app
