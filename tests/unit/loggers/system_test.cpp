#include "paceline/loggers/system.h"

#include "support/power_loss_file_system.h"
#include "support/temp_folder.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace paceline::loggers {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using Summary = std::vector<std::pair<std::string, double>>;

class SystemMonitorTest : public ::testing::Test {
 protected:
  std::vector<nlohmann::json> lines() const {
    std::istringstream text(base::read_file(run_.path() / "system.jsonl"));
    std::vector<nlohmann::json> parsed;
    for (std::string line; std::getline(text, line);) parsed.push_back(nlohmann::json::parse(line));
    return parsed;
  }

  static test::PowerLossFileSystem::Check has_lines(int wanted) {
    return [wanted](const std::filesystem::path& disk) -> std::string {
      const auto path = disk / "system.jsonl";
      const std::string text = std::filesystem::exists(path) ? base::read_file(path) : "";
      const auto found = std::ranges::count(text, '\n');
      return found >= wanted ? "" : fmt::format("{} lines of {}", found, wanted);
    };
  }

  SinkContext context(std::vector<metrics::LocalRank> ranks) {
    return {run_.path(), 0, &files_, std::move(ranks), /*local_cores=*/4};
  }

  /// A process that has used so many seconds of a core.
  void write_process(int process, double cpu_s) const {
    const auto ticks = static_cast<long>(cpu_s * static_cast<double>(sysconf(_SC_CLK_TCK)));
    proc_.write(std::to_string(process) + "/stat",
                "1 (rank) R 1 2 3 4 5 6 7 8 9 10 " + std::to_string(ticks) + " 0 0 0\n");
    proc_.write(std::to_string(process) + "/status", "VmHWM: 3000 kB\nVmRSS: 2000 kB\n");
  }

  test::TempFolder run_;
  test::TempFolder proc_;
  base::RealFileSystem files_;
  const SystemSources sources_{proc_.path(), PACELINE_BINARY_DIR "/lib/libfake_nvml.so"};
  const SystemConfig rarely_{.period_s = 3600};
};

TEST_F(SystemMonitorTest, TheLastLineComesWhenTheRunEnds) {
  SystemMonitor monitor(rarely_, context({{0, getpid(), ""}}));
  monitor.log_step({.step = 7}, {});
  const Summary summary = monitor.summarise();
  ASSERT_EQ(lines().size(), 1u);
  const nlohmann::json line = lines().front();
  EXPECT_EQ(line["step"], 7);
  EXPECT_GT(line["wall_time"].get<double>(), 1.6e9);
  EXPECT_EQ(line["ranks"][0]["rank"], 0);
  EXPECT_GT(line["ranks"][0]["resident_bytes"].get<double>(), 1e6);
  EXPECT_TRUE(line["gpus"].empty());
  EXPECT_THAT(summary, Contains(Key("cpu_utilization_mean")));
  EXPECT_THAT(summary, Not(Contains(Key("gpu_utilization_mean"))));
}

TEST_F(SystemMonitorTest, WritesALineForEachPeriodWithoutBeingAsked) {
  const SystemConfig often{.period_s = 0.001};
  SystemMonitor monitor(often, context({{0, getpid(), ""}}));
  while (!std::filesystem::exists(run_.path() / "system.jsonl") || lines().size() < 3) {
    std::this_thread::yield();
  }
  SUCCEED();  // the loop ends only if lines come
}

TEST_F(SystemMonitorTest, CountsTheCoresThatEachRankKeepsBusy) {
  write_process(11, 1.0);
  write_process(12, 1.0);
  SystemMonitor monitor(rarely_, context({{0, 11, ""}, {1, 12, ""}}), sources_);
  write_process(11, 1000.0);
  write_process(12, 500.5);
  const Summary summary = monitor.summarise();
  const nlohmann::json line = lines().front();
  const double cores0 = line["ranks"][0]["cpu_cores"];
  const double cores1 = line["ranks"][1]["cpu_cores"];
  EXPECT_NEAR(cores0 / cores1, 2.0, 1e-3);
  EXPECT_NEAR(line["cpu_utilization"].get<double>(), (cores0 + cores1) / 4,
              1e-4 * (cores0 + cores1));
  EXPECT_THAT(summary,
              Contains(std::pair<std::string, double>("peak_resident_bytes", 3000 * 1024)));
}

TEST_F(SystemMonitorTest, ARankThatHasEndedIsLeftOut) {
  write_process(11, 1.0);
  write_process(12, 1.0);
  SystemMonitor monitor(rarely_, context({{0, 11, ""}, {1, 12, ""}}), sources_);
  std::filesystem::remove_all(proc_.path() / "12");
  monitor.summarise();
  ASSERT_EQ(lines().front()["ranks"].size(), 1u);
  EXPECT_EQ(lines().front()["ranks"][0]["rank"], 0);
}

TEST_F(SystemMonitorTest, ReadsTheGpusOfItsRanks) {
  SystemMonitor monitor(rarely_, context({{0, getpid(), "GPU-new"}, {1, getpid(), "GPU-old"}}),
                        {.nvml = sources_.nvml});
  const Summary summary = monitor.summarise();
  const nlohmann::json gpus = lines().front()["gpus"];
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0]["utilization"], 0.97);
  EXPECT_EQ(gpus[0]["throttle_reasons"][0], "sw_power_cap");
  EXPECT_EQ(gpus[1]["rank"], 1);
  EXPECT_FALSE(gpus[1].contains("power_w"));
  EXPECT_THAT(summary, Contains(std::pair<std::string, double>("gpu_utilization_p95", 0.97)));
  EXPECT_THAT(summary, Contains(std::pair<std::string, double>("peak_gpu_memory_bytes",
                                                               static_cast<double>(30ull << 30))));
}

TEST_F(SystemMonitorTest, AResumedRunGoesOnBehindTheLastWholeLine) {
  run_.write("system.jsonl", "{\"step\":3}\n{\"step\":4,\"wall");
  SystemMonitor monitor(rarely_, context({{0, getpid(), ""}}));
  monitor.resume_at(4);
  monitor.summarise();
  ASSERT_EQ(lines().size(), 2u);
  EXPECT_EQ(lines()[0]["step"], 3);
  EXPECT_EQ(lines()[1]["step"], 4);
}

TEST_F(SystemMonitorTest, AFileThatCannotBeWrittenIsToldInTheSummary) {
  SinkContext nowhere = context({{0, getpid(), ""}});
  nowhere.run_directory /= "missing";
  SystemMonitor monitor(rarely_, nowhere);
  monitor.flush();
  const auto values = monitor.summarise();
  ASSERT_GE(values.size(), 2u);
  EXPECT_EQ(values[0].first, "failed_writes");
  EXPECT_EQ(values[1], (std::pair<std::string, double>("lost_records", 1)));
}

TEST_F(SystemMonitorTest, LinesSurviveAPowerLossOnceTheyAreFlushed) {
  test::expect_durable({.run = [&](test::PowerLossFileSystem& files, const auto& root) {
    SinkContext there = context({{0, getpid(), ""}});
    there.run_directory = root;
    there.files = &files;
    SystemMonitor monitor(rarely_, there);
    monitor.summarise();
    files.expect(has_lines(1));
  }});
}

}  // namespace
}  // namespace paceline::loggers
