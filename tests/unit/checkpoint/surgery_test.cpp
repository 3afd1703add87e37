#include "paceline/checkpoint/surgery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::checkpoint {
namespace {

TEST(Surgery, ReadsBackInOrder) {
  const SurgeryRecord record{
      {"squeeze_excite", "{min_channels: 128}", {{"blocks", {"layer1.0"}}}},
      {"blurpool", "{}", {{"convolutions", {"layer2.0.conv2", "a"}}, {"max-pools", {"maxpool"}}}}};
  EXPECT_EQ(surgery_from_json(surgery_to_json(record)), record);
  EXPECT_EQ(surgery_from_json(surgery_to_json({})), SurgeryRecord());
}

TEST(Surgery, OtherJsonIsRefused) {
  for (const char* text : {"[{}]", "[1]", "{\"a\": 1}", "\"text\"",
                           R"([{"algorithm": "a", "options": "", "layers": ["b"]}])"}) {
    EXPECT_THROW(surgery_from_json(nlohmann::ordered_json::parse(text)), nlohmann::json::exception)
        << text;
  }
}

TEST(Surgery, IsToldWithItsLayers) {
  EXPECT_EQ(describe({"blurpool", "", {{"convolutions", {"x", "y"}}, {"max-pools", {"z"}}}}),
            "blurpool: 2 convolutions (x, y), 1 max-pools (z)");
}

}  // namespace
}  // namespace paceline::checkpoint
