#include "paceline/loggers/tensorboard.h"

#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/metrics/picture_png.h"
#include "support/power_loss_file_system.h"
#include "unit/loggers/event_reader.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::loggers {
namespace {

using metrics::MetricValue;

class FixedClock final : public base::Clock {
 public:
  double monotonic_s() const override { return 0; }
  double wall_s() const override { return 1700000000.5; }
};

Record record_of(std::int64_t step, double loss) {
  Record record;
  record.at = {.step = step,
               .epoch = 0,
               .samples = 0,
               .wall_time = 1700000000.0 + static_cast<double>(step)};
  const MetricValue values[] = {{"train/loss", loss}, {"lr", 0.1}};
  record.set_values(values);
  return record;
}

class TensorboardTest : public ::testing::Test {
 protected:
  TensorboardWriter make() { return {dir_.path() / "tb", "run-1", files_, clock_}; }
  std::vector<std::filesystem::path> paths() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path() / "tb")) {
      paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  /// What a reader keeps that follows TensorBoard's rule: a START at a step voids what is at that
  /// step and later, except the first START.
  std::vector<std::pair<std::int64_t, float>> losses() const {
    std::vector<std::pair<std::int64_t, float>> points;
    bool is_first_start = true;
    for (const auto& path : paths()) {
      for (const Event& event : read_events(base::read_file(path)).events) {
        if (event.session_status == 1 && !std::exchange(is_first_start, false)) {
          std::erase_if(points, [&](const auto& point) { return point.first >= event.step; });
        }
        if (event.tag == "train/loss") points.emplace_back(event.step, event.scalar);
      }
    }
    return points;
  }

  base::TempDir dir_;
  base::RealFileSystem files_;
  FixedClock clock_;
};

TEST_F(TensorboardTest, PicturesAreImagesOfTheirStep) {
  TensorboardWriter writer = make();
  EXPECT_TRUE(writer.shows_pictures());
  const metrics::Picture picture{"val/slices", 3, 2, std::vector<std::uint8_t>(18, 200)};
  writer.write_picture({.step = 4, .epoch = 0, .samples = 0, .wall_time = 1700000009.0}, picture);
  writer.sync();
  const EventFile file = read_events(base::read_file(paths().at(0)));
  ASSERT_EQ(file.events.size(), 3u);
  const Event& event = file.events[2];
  EXPECT_EQ(event.tag, "val/slices");
  EXPECT_EQ(event.step, 4);
  EXPECT_EQ(event.wall_time, 1700000009.0);
  EXPECT_EQ(event.width, 3);
  EXPECT_EQ(event.height, 2);
  EXPECT_EQ(event.png, metrics::encode_png(picture));
}

TEST_F(TensorboardTest, BeginsWithVersionAndStart) {
  TensorboardWriter writer = make();
  writer.write(record_of(1, 0.5));
  writer.sync();
  ASSERT_EQ(paths().size(), 1u);
  EXPECT_TRUE(paths()[0].filename().string().starts_with("events.out.tfevents.1700000000."));
  const EventFile file = read_events(base::read_file(paths()[0]));
  ASSERT_EQ(file.events.size(), 4u);
  EXPECT_EQ(file.events[0].file_version, "brain.Event:2");
  EXPECT_EQ(file.events[1].session_status, 1);
  EXPECT_EQ(file.events[1].step, 0);
  EXPECT_EQ(file.events[2].tag, "train/loss");
  EXPECT_EQ(file.events[2].wall_time, 1700000001.0);
  EXPECT_EQ(file.events[3].scalar, 0.1f);
}

TEST_F(TensorboardTest, AResumeVoidsWhatCameAfterItsStep) {
  {
    TensorboardWriter writer = make();
    for (int step = 1; step <= 8; ++step) writer.write(record_of(step, step));
    writer.drained();
  }
  {  // killed in the middle of a record
    const std::string text = base::read_file(paths()[0]);
    files_.create(paths()[0])->write(std::string_view(text).substr(0, text.size() - 3));
  }
  TensorboardWriter resumed = make();
  resumed.resume_at(5);
  for (int step = 6; step <= 7; ++step) resumed.write(record_of(step, 10 + step));
  resumed.sync();
  EXPECT_EQ(paths().size(), 2u);  // in the same second, and still in order
  using Points = std::vector<std::pair<std::int64_t, float>>;
  EXPECT_EQ(losses(), (Points{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 16}, {7, 17}}));
}

// What readers have seen of a file that was removed stays good, and so does what is in others.
TEST_F(TensorboardTest, AFileOpenedAnewVoidsNothing) {
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  TensorboardWriter writer = make();
  for (int step = 1; step <= 3; ++step) writer.write(record_of(step, step));
  writer.sync();
  std::filesystem::remove(paths().at(0));
  for (int step = 4; step <= 5; ++step) {
    writer.write(record_of(step, step));
    writer.sync();
  }
  ASSERT_EQ(paths().size(), 1u);
  const EventFile file = read_events(base::read_file(paths()[0]));
  EXPECT_EQ(file.events.at(1).session_status, 1);
  EXPECT_EQ(file.events.at(1).step, 6);
  using Points = std::vector<std::pair<std::int64_t, float>>;
  EXPECT_EQ(losses(), (Points{{4, 4}, {5, 5}}));
}

// It may be the run's own, whose loss other writers tell by its absence.
TEST_F(TensorboardTest, AFolderThatWasRemovedIsNotMadeAnew) {
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  TensorboardWriter writer = make();
  for (int step = 1; step <= 2; ++step) {  // before the first write and behind it
    std::filesystem::remove_all(dir_.path() / "tb");
    writer.write(record_of(step, step));
    writer.sync();
    EXPECT_FALSE(std::filesystem::exists(dir_.path() / "tb"));
    std::filesystem::create_directory(dir_.path() / "tb");  // its owner changed their mind
    writer.sync();
  }
  using Points = std::vector<std::pair<std::int64_t, float>>;
  EXPECT_EQ(losses(), (Points{{2, 2}}));
}

TEST_F(TensorboardTest, AForeignFileOfTheFarFutureDoesNoHarm) {
  std::filesystem::create_directory(dir_.path() / "tb");
  files_.create(dir_.path() / "tb/events.out.tfevents.9223372036854775807.host")->close();
  TensorboardWriter writer = make();
  writer.write(record_of(1, 0.5));
  writer.sync();
  EXPECT_TRUE(paths()[0].filename().string().starts_with("events.out.tfevents.1700000000."));
}

TEST_F(TensorboardTest, NothingLoggedLeavesNoFile) {
  make().sync();
  EXPECT_TRUE(paths().empty());
}

TEST_F(TensorboardTest, SinkWritesTextAndHparams) {
  const auto sink =
      loggers::make(TensorboardConfig{.directory = "tb"},
                    {.run_directory = dir_.path() / "", .total_steps = 0, .files = &files_});
  const std::vector<std::pair<std::string, std::string>> hparams{{"optimizer.lr", "0.1"}};
  sink->log_hparams(hparams);
  sink->log_text({.step = 0, .epoch = 0, .samples = 0, .wall_time = 1.0}, "banner", "hello");
  sink->flush();
  const EventFile file = read_events(base::read_file(paths().at(0)));
  ASSERT_EQ(file.events.size(), 4u);
  EXPECT_EQ(file.events[2].hparams.at("optimizer.lr"), "number 0.1");
  EXPECT_EQ(file.events[3].text, "hello");
}

TEST_F(TensorboardTest, EventsSurviveAPowerLossOnceTheyAreSynced) {
  const auto holds = [](std::int64_t last_step) {
    return [last_step](const std::filesystem::path& disk) -> std::string {
      std::int64_t found = 0;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(disk)) {
        if (!entry.is_regular_file()) continue;
        for (const Event& event : read_events(base::read_file(entry.path())).events)
          found = std::max(found, event.step);
      }
      return found >= last_step ? "" : fmt::format("step {} is the last", found);
    };
  };
  test::expect_durable(
      {.run = [&](test::PowerLossFileSystem& files, const std::filesystem::path& root) {
        TensorboardWriter writer(root / "tb", "run-1", files, clock_);
        for (std::int64_t step = 1; step <= 2; ++step) {
          writer.write(record_of(step, 0.5));
          writer.sync();
          files.expect(holds(step));
        }
      }});
}

}  // namespace
}  // namespace paceline::loggers
