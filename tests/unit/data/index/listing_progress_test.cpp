#include "paceline/data/index/listing_progress.h"

#include "paceline/base/log.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SetClock final : public base::Clock {
 public:
  double monotonic_s() const override { return now_s; }
  double wall_s() const override { return now_s; }
  double now_s = 100;
};

TEST(ListingProgress, TellsHowManyWereFoundAndHowFast) {
  std::vector<std::string> lines;
  const base::LogRedirection redirection(
      [&](base::LogLevel, std::string_view line) { lines.emplace_back(line); });
  const auto clock = std::make_shared<SetClock>();
  const auto storage = local_storage();
  ListingProgress progress("s3://b/train", *storage, clock);
  clock->now_s += 9;
  progress.add(1000);
  EXPECT_THAT(lines, IsEmpty()) << "a short one is not worth a line";
  clock->now_s += 1;
  progress.add(24'000);
  progress.add(1000);
  EXPECT_THAT(lines, ElementsAre("listing s3://b/train: 25,000 samples so far, 2,500 per second"));
  clock->now_s += 10;
  progress.add(4000);
  EXPECT_EQ(lines.back(), "listing s3://b/train: 30,000 samples so far, 1,500 per second");
}

}  // namespace
}  // namespace paceline::data
