#include "paceline/loggers/tensorboard_events.h"

#include "unit/loggers/event_reader.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace paceline::loggers {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string record(std::string_view event) {
  std::string file;
  append_record(file, event);
  return file;
}

// The golden records were written by TensorBoard 2.21 and TensorFlow's record writer.
TEST(TensorboardEvents, GoldenFileVersion) {
  EXPECT_EQ(hex(record(file_version_event(1700000000.0))),
            "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d");
}

TEST(TensorboardEvents, GoldenSessionStart) {
  EXPECT_EQ(hex(record(session_start_event(1700000001.0, 100))),
            "0f000000000000006d532b090900004040fc54d94110643a020801964fcd1c");
}

TEST(TensorboardEvents, GoldenScalar) {
  EXPECT_EQ(hex(record(scalar_event(1700000002.0, 7, "train/loss", 0.5f))),
            "200000000000000029eda9500900008040fc54d94110072a130a110a0a747261696e2f6c6f737315000000"
            "3f3b783e38");
}

TEST(TensorboardEvents, ReadBack) {
  std::string file;
  append_record(file, file_version_event(1.0));
  append_record(file, session_start_event(1.0, 0));
  append_record(file, scalar_event(2.0, 3'000'000'000, "a", -1.5f));
  append_record(file, text_event(3.0, 5, "card", "# model\nresnet"));
  const std::vector<std::pair<std::string, std::string>> hparams{
      {"lr", "0.1"}, {"nesterov", "true"}, {"model", "resnet18"}};
  append_record(file, hparams_start_event(4.0, "run-1", hparams));

  const EventFile events = read_events(file);
  EXPECT_EQ(events.end, file.size());
  ASSERT_EQ(events.events.size(), 5u);
  EXPECT_EQ(events.events[0].file_version, "brain.Event:2");
  EXPECT_EQ(events.events[1].session_status, 1);
  EXPECT_EQ(events.events[2].tag, "a");
  EXPECT_EQ(events.events[2].step, 3'000'000'000);
  EXPECT_EQ(events.events[2].scalar, -1.5f);
  EXPECT_EQ(events.events[3].tag, "card/text_summary");
  EXPECT_EQ(events.events[3].plugin, "text");
  EXPECT_EQ(events.events[3].text, "# model\nresnet");
  EXPECT_EQ(events.events[4].tag, "_hparams_/session_start_info");
  EXPECT_EQ(events.events[4].plugin, "hparams");
  EXPECT_EQ(events.events[4].hparams,
            (std::map<std::string, std::string>{
                {"lr", "number 0.1"}, {"nesterov", "bool 1"}, {"model", "string resnet18"}}));
}

TEST(TensorboardEvents, EveryTruncationIsSeenAndKeepsWholeRecords) {
  std::string file;
  append_record(file, file_version_event(1.0));
  const std::size_t first = file.size();
  append_record(file, scalar_event(2.0, 1, "loss", 0.25f));
  for (std::size_t size = 0; size < file.size(); ++size) {
    const EventFile events = read_events(std::string_view(file).substr(0, size));
    EXPECT_EQ(events.events.size(), size < first ? 0u : 1u) << size;
    EXPECT_EQ(events.end, size < first ? 0u : first) << size;
  }
}

TEST(TensorboardEvents, EveryFlippedBitIsSeen) {
  const std::string good = record(scalar_event(2.0, 1, "loss", 0.25f));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(read_events(bad).events.empty()) << bit;
  }
}

}  // namespace
}  // namespace paceline::loggers
