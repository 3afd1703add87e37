#include "paceline/loggers/console.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::loggers {
namespace {

using metrics::MetricValue;

Record step_record(std::int64_t step, double time, double loss) {
  Record record;
  record.at = {.step = step, .epoch = step / 100, .samples = step * 8, .wall_time = time};
  const MetricValue values[] = {{"train/loss", loss}, {"lr", 0.1}, {"time/forward_ms", 3.0}};
  record.set_values(values);
  return record;
}

Record eval_record(std::int64_t step, double time) {
  Record record;
  record.kind = RecordKind::kEvent;
  record.tag = "eval";
  record.at = {.step = step, .epoch = 1, .samples = 0, .wall_time = time};
  const MetricValue value{"val/top1", 0.78125};
  record.set_values({&value, 1});
  return record;
}

class ConsoleTest : public ::testing::Test {
 protected:
  ConsoleWriter make(ConsoleConfig config, TerminalStyle style, std::int64_t total_steps = 200) {
    return {std::move(config),
            total_steps,
            {style, [this] { return columns_; }, [this](std::string_view text) { out_ += text; }}};
  }
  std::string take() { return std::exchange(out_, ""); }

  int columns_ = 100;
  std::string out_;
};

constexpr TerminalStyle kPipe{};
constexpr TerminalStyle kTerminal{.has_bar = true, .has_color = false};

TEST_F(ConsoleTest, PlainLinesComeEveryFewSeconds) {
  ConsoleWriter console = make({}, kPipe);
  for (int step = 1; step <= 200; ++step) {
    console.write(step_record(step, 1000 + 0.25 * step, 2.0 / step));
    console.drained();
  }
  EXPECT_EQ(take(),
            "epoch 0 step 1/200 [00:00] train/loss 2 lr 0.1\n"
            "epoch 0 step 41/200 [00:10<00:40] train/loss 0.04878 lr 0.1\n"
            "epoch 0 step 81/200 [00:20<00:30] train/loss 0.02469 lr 0.1\n"
            "epoch 1 step 121/200 [00:30<00:20] train/loss 0.01653 lr 0.1\n"
            "epoch 1 step 161/200 [00:40<00:10] train/loss 0.01242 lr 0.1\n"
            "epoch 2 step 200/200 [00:50<00:00] train/loss 0.01 lr 0.1\n");
}

TEST_F(ConsoleTest, PlainLinesByStepsAndWithoutATotal) {
  ConsoleWriter console = make({.interval_steps = 3}, kPipe, /*total_steps=*/0);
  for (int step = 1; step <= 7; ++step) console.write(step_record(step, 1000 + step, 12345.678));
  EXPECT_EQ(take(),
            "epoch 0 step 1 [00:00] train/loss 12346 lr 0.1\n"
            "epoch 0 step 4 [00:03] train/loss 12346 lr 0.1\n"
            "epoch 0 step 7 [00:06] train/loss 12346 lr 0.1\n");
}

TEST_F(ConsoleTest, EventsAlwaysShow) {
  ConsoleWriter console = make({.progress = ProgressStyle::kOff}, kPipe);
  console.write(step_record(1, 1000, 1));
  console.write(eval_record(100, 1001));
  EXPECT_EQ(take(), "eval epoch 1 step 100 val/top1 0.7812\n");
  ConsoleWriter coloured = make({}, {.has_bar = false, .has_color = true});
  coloured.write(eval_record(100, 1001));
  EXPECT_EQ(take(), "\x1b[1meval\x1b[0m epoch 1 step 100 val/top1 0.7812\n");
}

TEST_F(ConsoleTest, BarIsRedrawnInPlaceOncePerRound) {
  ConsoleWriter console = make({}, kTerminal);
  for (int step = 1; step <= 90; ++step) console.write(step_record(step, 1000 + 0.25 * step, 0.5));
  EXPECT_EQ(take(), "");
  console.drained();
  EXPECT_EQ(
      take(),
      "\r\x1b[Kepoch 0  45%|█████▍      | 90/200 [00:22<00:28, 4 step/s] train/loss 0.5 lr 0.1");
  console.drained();  // nothing new
  EXPECT_EQ(take(), "");
}

TEST_F(ConsoleTest, LinesStandAboveTheBar) {
  ConsoleWriter console = make({}, kTerminal);
  console.write(step_record(1, 1000, 0.5));
  console.drained();
  take();
  console.write(eval_record(100, 1001));
  EXPECT_EQ(take(), "\r\x1b[Keval epoch 1 step 100 val/top1 0.7812\n");
  console.drained();
  EXPECT_TRUE(take().starts_with("\r\x1b[Kepoch 0   0%|"));
}

TEST_F(ConsoleTest, BarFitsTheTerminal) {
  columns_ = 30;
  ConsoleWriter console = make({}, kTerminal);
  console.write(step_record(100, 1000, 0.5));
  console.drained();
  EXPECT_EQ(take(), "\r\x1b[Kepoch 1  50%|██  | 100/200 [0");
}

TEST_F(ConsoleTest, LeavesTheCursorBelowTheBar) {
  {
    ConsoleWriter console = make({}, kTerminal);
    console.write(step_record(1, 1000, 0.5));
    console.drained();
    take();
  }
  EXPECT_EQ(take(), "\n");
}

}  // namespace
}  // namespace paceline::loggers
