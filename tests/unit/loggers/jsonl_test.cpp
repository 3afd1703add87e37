#include "paceline/loggers/jsonl.h"

#include "paceline/base/file.h"
#include "support/faulty_file_system.h"
#include "support/interrupted_file_system.h"
#include "support/power_loss_file_system.h"
#include "support/unsynced_file_system.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::loggers {
namespace {

using metrics::MetricValue;
using test::InterruptedFileSystem;

Record record_of(std::int64_t step, std::vector<MetricValue> values) {
  Record record;
  record.at = {.step = step, .epoch = 1, .samples = 64 * step, .wall_time = 1700000000.25};
  record.set_values(values);
  return record;
}

class JsonlTest : public ::testing::Test {
 protected:
  std::string text() const { return base::read_file(path_); }
  /// Logs `loss` at steps [first, last] as a run of its own.
  void log_steps(std::int64_t first, std::int64_t last) {
    JsonlWriter writer(path_, files_);
    for (std::int64_t step = first; step <= last; ++step) {
      writer.write(record_of(step, {{"loss", 1.0 / static_cast<double>(step)}}));
    }
    writer.sync();
  }

  base::TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "metrics.jsonl";
  base::RealFileSystem files_;
};

TEST_F(JsonlTest, WritesALineForEachRecord) {
  JsonlWriter writer(path_, files_);
  writer.write(record_of(7, {{"train/loss", 0.5}, {"lr", 1e-4}}));
  Record event = record_of(8, {{"val/top1", 0.25}});
  event.kind = RecordKind::kEvent;
  event.tag = "eval";
  writer.write(event);
  Record note = record_of(9, {});
  note.kind = RecordKind::kText;
  note.tag = "banner";
  note.text = "a \"quoted\"\nline";
  writer.write(note);
  writer.sync();
  EXPECT_EQ(text(),
            "{\"step\":7,\"epoch\":1,\"samples\":448,\"wall_time\":1700000000.25,\"train/"
            "loss\":0.5,\"lr\":0.0001}\n"
            "{\"step\":8,\"epoch\":1,\"samples\":512,\"wall_time\":1700000000.25,\"event\":"
            "\"eval\",\"val/top1\":0.25}\n"
            "{\"step\":9,\"epoch\":1,\"samples\":576,\"wall_time\":1700000000.25,\"text\":"
            "\"banner\",\"value\":\"a "
            "\\\"quoted\\\"\\nline\"}\n");
}

TEST_F(JsonlTest, EveryLineIsJsonAndEveryNumberReadsBackExactly) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers{0.1, 1.0 / 3.0, 1e300, -5e-324, 123456789012345678.0, 0.0, 3.0};
  JsonlWriter writer(path_, files_);
  for (const double number : numbers) writer.write(record_of(1, {{"x", number}}));
  writer.write(record_of(1, {{"x", kInfinity}, {"y", -kInfinity}, {"z", std::nan("")}}));
  writer.write(record_of(1, {{"a \"b\"\\\xff", 1.0}}));
  writer.sync();

  std::vector<nlohmann::json> lines;
  std::istringstream stream(text());
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), numbers.size() + 2);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(lines[i]["x"].get<double>(), numbers[i]);
  EXPECT_EQ(lines[numbers.size()]["x"], "Infinity");
  EXPECT_EQ(lines[numbers.size()]["y"], "-Infinity");
  EXPECT_EQ(lines[numbers.size()]["z"], "NaN");
  EXPECT_EQ(lines.back()["a \"b\"\\\xEF\xBF\xBD"], 1.0);
}

TEST_F(JsonlTest, ResumeCutsBackAndTheRestIsTheSameAsWithoutAStop) {
  log_steps(1, 20);
  const std::string whole = text();
  std::filesystem::remove(path_);

  log_steps(1, 15);
  JsonlWriter resumed(path_, files_);
  resumed.resume_at(10);
  for (std::int64_t step = 11; step <= 20; ++step) {
    resumed.write(record_of(step, {{"loss", 1.0 / static_cast<double>(step)}}));
  }
  resumed.sync();
  EXPECT_EQ(text(), whole);
}

TEST_F(JsonlTest, ResumeDropsALineCutShortWhereverItWasCut) {
  log_steps(1, 3);
  const std::string whole = text();
  const std::size_t last_line = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = last_line; size < whole.size(); ++size) {
    files_.create(path_)->write(whole.substr(0, size));
    JsonlWriter(path_, files_).resume_at(3);
    EXPECT_EQ(text(), whole.substr(0, last_line)) << size;
  }
}

TEST_F(JsonlTest, ResumeWithoutAFileOrWithNothingToCut) {
  JsonlWriter(path_, files_).resume_at(3);
  EXPECT_FALSE(std::filesystem::exists(path_));
  log_steps(1, 3);
  const std::string whole = text();
  InterruptedFileSystem untouched(0);  // fails on any change
  JsonlWriter(path_, untouched).resume_at(3);
  EXPECT_EQ(text(), whole);
}

TEST_F(JsonlTest, KilledWhileCuttingBackLeavesTheOldOrTheNewFile) {
  log_steps(1, 9);
  const std::string whole = text();
  JsonlWriter(path_, files_).resume_at(4);
  const std::string cut = text();
  bool has_finished = false;
  for (int operation = 0; !has_finished; ++operation) {
    files_.create(path_)->write(whole);
    InterruptedFileSystem dying(operation, InterruptedFileSystem::Fault::kDeath);
    try {
      JsonlWriter(path_, dying).resume_at(4);
      has_finished = true;
    } catch (const InterruptedFileSystem::Died&) {
    }
    EXPECT_TRUE(text() == whole || text() == cut) << operation;
    JsonlWriter(path_, files_).resume_at(4);
    EXPECT_EQ(text(), cut) << operation;
  }
}

TEST_F(JsonlTest, AFullDiskLosesNoLineAndEndsNothing) {
  test::FaultyFileSystem files;
  const std::unique_ptr<metrics::MetricSink> sink =
      make(JsonlConfig{}, {.run_directory = dir_.path(), .total_steps = 0, .files = &files});
  const MetricValue value{"loss", 1.0};
  sink->log_step({.step = 1}, {&value, 1});
  sink->flush();
  files.fill_disk_after(10);
  for (int step = 2; step < 5; ++step) {
    sink->log_step({.step = step}, {&value, 1});
    sink->flush();
  }
  const auto told = sink->summarise();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1], (std::pair<std::string, double>("lost_records", 3)));
  files.free_disk();
  sink->flush();
  const std::string text = base::read_file(dir_.path() / "metrics.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST_F(JsonlTest, LinesSurviveAPowerLossOnceTheyAreSynced) {
  const auto holds = [](std::int64_t num_lines) {
    return [num_lines](const std::filesystem::path& disk) -> std::string {
      test::UnsyncedFileSystem files;
      const auto path = disk / "metrics.jsonl";
      JsonlWriter(path, files).resume_at(num_lines);  // as the next start of the run
      const std::string text = std::filesystem::exists(path) ? base::read_file(path) : "";
      const auto found = std::ranges::count(text, '\n');
      return found == num_lines ? "" : fmt::format("{} lines of {}", found, num_lines);
    };
  };
  test::expect_durable(
      {.run = [&](test::PowerLossFileSystem& files, const std::filesystem::path& root) {
        JsonlWriter writer(root / "metrics.jsonl", files);
        for (std::int64_t step = 1; step <= 3; ++step) {
          writer.write(record_of(step, {{"loss", 0.5}}));
          writer.sync();
          files.expect(holds(step));
        }
      }});
}

}  // namespace
}  // namespace paceline::loggers
