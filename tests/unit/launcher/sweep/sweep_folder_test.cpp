#include "paceline/launcher/sweep/sweep_folder.h"

#include "paceline/base/error.h"
#include "paceline/config/parse.h"
#include "unit/launcher/sweep/small_sweep.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using test::done_with;
using test::failed_with;
using test::small_grid;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SweepFolderTest : public testing::Test {
 protected:
  void write_summary(int trial, const std::string& ended_by) {
    const auto run = folder_.run_of(small_grid().trials[static_cast<std::size_t>(trial - 1)]);
    files_.create_directories(run);
    base::write_file_atomically(
        files_, run / "summary.json",
        R"({"ended_by": ")" + ended_by + R"(", "elapsed_s": 1, "metrics": {"val/top1": 0.75}})");
  }

  base::RealFileSystem files_;
  base::TempDir scratch_;
  SweepFolder folder_{scratch_.path() / "sweep", {}};
};

TEST_F(SweepFolderTest, GoesOnWithWhatWasMeasured) {
  Sweep sweep = small_grid();
  EXPECT_FALSE(folder_.restore(sweep, 0, false)) << "nothing was written";
  sweep.records[0] = done_with({0.25});
  sweep.records[1] = failed_with(6, {});
  folder_.write(sweep);
  EXPECT_TRUE(base::read_file(folder_.path() / "sweep.csv").starts_with("trial,"));
  EXPECT_TRUE(base::read_file(folder_.path() / "sweep.svg").starts_with("<svg "));
  Sweep again = small_grid();
  EXPECT_TRUE(folder_.restore(again, 0, false));
  EXPECT_EQ(again.records, sweep.records);
}

TEST_F(SweepFolderTest, TakesRunsThatEndedUnseen) {
  folder_.write(small_grid());
  write_summary(2, "duration");
  write_summary(3, "signal");
  Sweep sweep = small_grid();
  folder_.restore(sweep, 0, false);
  EXPECT_THAT(sweep.records[1].metrics, testing::ElementsAre(0.75));
  EXPECT_FALSE(sweep.records[2].is_done()) << "it was interrupted";
}

TEST_F(SweepFolderTest, RetriesWhatFailedIfAskedTo) {
  Sweep sweep = small_grid();
  sweep.records[1] = failed_with(6);
  folder_.write(sweep);
  Sweep again = small_grid();
  folder_.restore(again, 0, true);
  EXPECT_FALSE(again.records[1].has_failed);
  EXPECT_FALSE(again.records[1].is_done());
}

TEST_F(SweepFolderTest, RefusesAnotherSweep) {
  Sweep sweep = small_grid();
  sweep.recipe = config::parse_yaml("a: 1", "r");
  folder_.write(sweep);
  sweep.recipe = config::parse_yaml("a: 2", "r");
  EXPECT_THAT([&] { folder_.restore(sweep, 0, false); },
              ThrowsMessage<base::ConfigError>(HasSubstr("another sweep: a: was 1, is 2. Put")));
  sweep.plan[1].value = "0.1,0.3";
  EXPECT_THAT(
      [&] { folder_.restore(sweep, 0, false); },
      ThrowsMessage<base::ConfigError>(HasSubstr("optimizer.lr was 0.1,0.2, is 0.1,0.3. Put")));
}

}  // namespace
}  // namespace paceline::launcher
