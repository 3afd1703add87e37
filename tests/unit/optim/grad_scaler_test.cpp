#include "paceline/optim/grad_scaler.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::optim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(GradScaler, GrowsAfterAnIntervalWithoutOverflowAndBacksOffAtOnce) {
  GradScaler scaler({.init_scale = 8, .growth_interval = 2});
  scaler.update(false);
  EXPECT_EQ(scaler.scale(), 8.0);
  scaler.update(false);
  EXPECT_EQ(scaler.scale(), 16.0);
  scaler.update(false);
  scaler.update(true);
  EXPECT_EQ(scaler.scale(), 8.0);
  EXPECT_EQ(scaler.inverse_scale(), 0.125);
  scaler.update(false);
  EXPECT_EQ(scaler.scale(), 8.0) << "the overflow began a new interval";
  EXPECT_EQ(scaler.num_skipped(), 1);
}

TEST(GradScaler, ComesBackWholeThroughText) {
  const GradScalerConfig config{.backoff_factor = 0.3, .growth_interval = 3};
  GradScaler saved(config);
  saved.update(true);
  saved.update(false);
  saved.update(false);
  GradScaler loaded(config);
  loaded.load_state_dict(nlohmann::json::parse(saved.state_dict().dump()));
  EXPECT_EQ(loaded.scale(), saved.scale());
  EXPECT_NE(loaded.scale(), GradScaler(config).scale());
  EXPECT_EQ(loaded.num_skipped(), 1);
  loaded.update(false);
  EXPECT_GT(loaded.scale(), saved.scale()) << "the third step without overflow";
  EXPECT_THROW(loaded.load_state_dict({{"scale", 1.0}}), nlohmann::json::exception);
}

TEST(Unscale, MultipliesAndFindsWhatIsNotFiniteAnywhere) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    // More elements than a vector register, and than a thread's share.
    const std::array<at::Tensor, 2> gradients{at::arange(100'003, dtype), at::ones({5}, dtype)};
    EXPECT_FALSE(unscale(gradients, 0.25).is_nonzero());
    EXPECT_TRUE(at::equal(gradients[0], at::arange(100'003, dtype) * 0.25));
    EXPECT_TRUE(at::equal(gradients[1], at::full({5}, 0.25, dtype)));
    for (const double bad : {kInfinity, -kInfinity, kNan}) {
      for (const std::int64_t place : {0, 50'001, 100'002}) {
        gradients[0].fill_(1.0)[place].fill_(bad);
        EXPECT_TRUE(unscale(gradients, 0.5).is_nonzero()) << bad << " at " << place;
      }
    }
  }
  EXPECT_THROW(unscale({}, 0.5), base::InternalError);
}

}  // namespace
}  // namespace paceline::optim
