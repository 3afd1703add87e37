#include "paceline/loggers/async_sink.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::loggers {
namespace {

using metrics::MetricStep;
using metrics::MetricValue;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using ::testing::ElementsAre;

/// Keeps what it gets as text; can be made to wait or to fail.
class FakeWriter : public RecordWriter {
 public:
  struct Log {
    std::vector<std::string> lines;
    int num_drains = 0;
    int num_syncs = 0;
    bool fails = false;
    bool shows_pictures = false;
    std::shared_future<void> gate;  ///< if valid, write() waits for it
  };
  explicit FakeWriter(Log& log) : log_(log) {}

  std::string_view name() const override { return "fake"; }
  void write(const Record& record) override {
    if (log_.gate.valid()) log_.gate.wait();
    if (log_.fails) throw base::CheckpointError("the disk is full");
    std::string line = fmt::format("{}:{}", static_cast<int>(record.kind), record.at.step);
    if (!record.tag.empty() && record.kind != RecordKind::kStep) line += " " + record.tag;
    if (record.kind == RecordKind::kText) line += " " + record.text;
    for (std::size_t i = 0; i < record.num_values() && record.kind != RecordKind::kText; ++i) {
      line += fmt::format(" {}={}", record.name(i), record.value(i));
    }
    log_.lines.push_back(line);
  }
  bool shows_pictures() const override { return log_.shows_pictures; }
  void write_picture(const MetricStep& at, const metrics::Picture& picture) override {
    log_.lines.push_back(fmt::format("{} at {}: {}", picture.name, at.step, picture.pixels.size()));
  }
  void drained() override { ++log_.num_drains; }
  void sync() override { ++log_.num_syncs; }
  void resume_at(std::int64_t step) override {
    log_.lines.push_back(fmt::format("resume {}", step));
  }

 private:
  Log& log_;
};

MetricStep at_step(std::int64_t step) { return {.step = step}; }

TEST(AsyncSink, PicturesComeInTheirPlaceToWritersThatShowThem) {
  for (const bool shows : {true, false}) {
    FakeWriter::Log log;
    log.shows_pictures = shows;
    AsyncSink sink(std::make_unique<FakeWriter>(log), {.capacity = 2, .period = 1ms});
    std::vector<std::string> wanted;
    for (int step = 1; step < 9; ++step) {
      const MetricValue value{"loss", 0.5};
      sink.log_step(at_step(step), {&value, 1});
      wanted.push_back(fmt::format("0:{} loss=0.5", step));
      if (step % 2 == 0) continue;
      sink.log_picture(at_step(step), {"val/slices", 1, 1, {1, 2, 3}});
      if (shows) wanted.push_back(fmt::format("val/slices at {}: 3", step));
    }
    sink.flush();
    EXPECT_EQ(log.lines, wanted);
  }
}

TEST(AsyncSink, KeepsOrderAndContentInAReusedRing) {
  FakeWriter::Log log;
  AsyncSink sink(std::make_unique<FakeWriter>(log), {.capacity = 4, .period = 1ms});
  sink.resume_at(2);
  for (int step = 3; step < 200; ++step) {
    std::string name = fmt::format("loss{}", step % 3);  // dies with this iteration
    const MetricValue values[] = {{name, step * 0.5}, {"lr", 1.0}};
    sink.log_step(at_step(step), std::span(values, static_cast<std::size_t>(1 + step % 2)));
  }
  const MetricValue value{"val/top1", 0.5};
  sink.log_event(at_step(200), "eval", {&value, 1});
  sink.log_text(at_step(201), "banner", "hello");
  sink.flush();
  ASSERT_EQ(log.lines.size(), 200u);
  EXPECT_EQ(log.lines[0], "resume 2");
  EXPECT_EQ(log.lines[1], "0:3 loss0=1.5 lr=1");
  EXPECT_EQ(log.lines[2], "0:4 loss1=2");
  EXPECT_EQ(log.lines[197], "0:199 loss1=99.5 lr=1");
  EXPECT_EQ(log.lines[198], "1:200 eval val/top1=0.5");
  EXPECT_EQ(log.lines[199], "2:201 banner hello");
  EXPECT_EQ(log.num_syncs, 1);
}

TEST(AsyncSink, LoggingDoesNotWaitForASlowWriter) {
  FakeWriter::Log log;
  std::promise<void> open;
  log.gate = open.get_future().share();
  AsyncSink sink(std::make_unique<FakeWriter>(log), {.capacity = 64, .period = 1ms});
  for (int step = 0; step < 60; ++step)
    sink.log_step(at_step(step), {});  // would hang if it waited
  open.set_value();
  sink.flush();
  EXPECT_EQ(log.lines.size(), 60u);
}

TEST(AsyncSink, AFullRingWaitsAndLosesNothing) {
  FakeWriter::Log log;
  std::promise<void> open;
  log.gate = open.get_future().share();
  AsyncSink sink(std::make_unique<FakeWriter>(log), {.capacity = 8, .period = 1ms});
  auto logging = std::async(std::launch::async, [&] {
    for (int step = 0; step < 100; ++step) sink.log_step(at_step(step), {});
  });
  EXPECT_EQ(logging.wait_for(20ms), std::future_status::timeout);
  open.set_value();
  logging.get();
  sink.flush();
  EXPECT_EQ(log.lines.size(), 100u);
}

TEST(AsyncSink, AHalfFullRingWakesTheWriterBeforeItsTime) {
  FakeWriter::Log log;
  AsyncSink sink(std::make_unique<FakeWriter>(log), {.capacity = 4, .period = 1h});
  for (int step = 0; step < 20; ++step)
    sink.log_step(at_step(step), {});  // hangs without the wake-up
  sink.flush();
  EXPECT_EQ(log.lines.size(), 20u);
}

TEST(AsyncSink, AWriterThatFailsIsGivenUpWithOneWarning) {
  std::vector<std::string> warnings;
  const base::LogRedirection redirection(
      [&](base::LogLevel, std::string_view line) { warnings.emplace_back(line); });
  FakeWriter::Log log;
  log.fails = true;
  AsyncSink sink(std::make_unique<FakeWriter>(log), {.capacity = 4, .period = 1ms});
  for (int step = 0; step < 20; ++step) sink.log_step(at_step(step), {});  // must not hang either
  sink.flush();
  sink.flush();
  EXPECT_TRUE(log.lines.empty());
  EXPECT_EQ(log.num_syncs, 0);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], ::testing::HasSubstr("the fake logger failed and is given up: "));
  EXPECT_THAT(warnings[0], ::testing::HasSubstr("the disk is full"));
  EXPECT_THAT(sink.summarise(), ElementsAre(std::pair<std::string, double>("was_given_up", 1)));
}

TEST(AsyncSink, FlushesOnAnotherThreadThanTheOneThatLogs) {
  FakeWriter::Log log;
  AsyncSink sink(std::make_unique<FakeWriter>(log), {.capacity = 4, .period = 1h});
  std::atomic<bool> is_done = false;
  std::thread flusher([&] {
    while (!is_done) sink.flush();
  });
  for (int step = 0; step < 1000; ++step) sink.log_step(at_step(step), {});
  is_done = true;
  flusher.join();
  sink.flush();
  ASSERT_EQ(log.lines.size(), 1000u);
  EXPECT_EQ(log.lines[999], "0:999");
}

TEST(AsyncSink, DestructionWritesWhatIsLeft) {
  FakeWriter::Log log;
  {
    AsyncSink sink(std::make_unique<FakeWriter>(log), {.capacity = 8, .period = 1h});
    sink.log_step(at_step(1), {});
    const std::pair<std::string, std::string> hparam{"lr", "0.1"};
    sink.log_hparams({&hparam, 1});
  }
  EXPECT_THAT(log.lines, ElementsAre("0:1", "3:0"));
  EXPECT_GE(log.num_drains, 1);
}

}  // namespace
}  // namespace paceline::loggers
