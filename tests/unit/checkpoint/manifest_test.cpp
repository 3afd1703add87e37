#include "paceline/checkpoint/manifest.h"

#include "paceline/base/hash.h"
#include "unit/checkpoint/messages.h"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::HasSubstr;

Manifest example() {
  return {
      .step = 1234,
      .environment = {2, 1, "2.11.0", "AVX2", "cpu"},
      .monitored = Monitored{"val/top1", 0.78125},
      .inputs = {{"training data", "60 samples, image_folder:60:00ff"}},
      .class_names = {"cat", "\"ü\""},
      .surgery = SurgeryRecord{{"blurpool", "{min_channels: 3}", {{"convolutions", {"a", "b"}}}}},
      .standing_weights = "ema",
      .files = {{"rank-0.safetensors", 100, 0xfedcba9876543210u}, {"rank-1.safetensors", 60, 7}},
      .tensors = {{"fc.weight",
                   "F32",
                   {2, 3},
                   {1, 0},
                   {{"rank-0.safetensors", "fc.weight[0:4]", 0, 4, 0xffffffffffffffffu},
                    {"rank-1.safetensors", "fc.weight[4:6]", 4, 6, 1}}},
                  {"steps", "I64", {}, {}, {{"rank-0.safetensors", "steps", 0, 1, 2}}}},
      .state = {{"clock", {{"step", 1234}, {"lr", 0.1}}}, {"none", nullptr}},
      .config = "run:\n  name: \"ü\"\n"};
}

/// The same text with a part replaced and the checksum made to fit again.
std::string forge(std::string text, const std::string& from, const std::string& to) {
  const auto found = text.find(from);
  EXPECT_NE(found, std::string::npos) << from;
  text.replace(found, from.size(), to);
  const std::string rest = text.substr(text.find('\n') + 1);
  return fmt::format("{{\"xxh3\": \"{:016x}\",\n{}", base::xxh3(rest), rest);
}

std::string error_of(const std::string& text) {
  return message_of([&] { decode(text, "dir/manifest.json"); });
}

TEST(Manifest, ReadsBackAndIsJson) {
  const std::string text = encode(example());
  EXPECT_TRUE(nlohmann::json::accept(text));
  const Manifest manifest = decode(text, "m");
  const Manifest expected = example();
  EXPECT_EQ(manifest.step, expected.step);
  EXPECT_EQ(manifest.environment, expected.environment);
  EXPECT_EQ(manifest.monitored, expected.monitored);
  EXPECT_EQ(manifest.inputs, expected.inputs);
  EXPECT_EQ(manifest.surgery, expected.surgery);
  EXPECT_EQ(manifest.standing_weights, "ema");
  EXPECT_EQ(manifest.state, expected.state);
  EXPECT_EQ(manifest.config, expected.config);
  ASSERT_EQ(manifest.files.size(), 2u);
  EXPECT_EQ(manifest.files[0].header_checksum, expected.files[0].header_checksum);
  EXPECT_EQ(manifest.files[1].size, 60u);
  ASSERT_EQ(manifest.tensors.size(), 2u);
  EXPECT_EQ(manifest.tensors[0].shape, expected.tensors[0].shape);
  EXPECT_EQ(manifest.tensors[0].order, expected.tensors[0].order);
  EXPECT_EQ(manifest.tensors[0].slices[0].checksum, 0xffffffffffffffffu);
  EXPECT_EQ(manifest.tensors[0].slices[1].tensor, "fc.weight[4:6]");
  EXPECT_EQ(encode(manifest), text);
}

TEST(Manifest, MonitoredNumbersSurviveAlsoWhenTheyAreNone) {
  Manifest manifest = example();
  manifest.monitored->value = std::nan("");
  EXPECT_TRUE(std::isnan(decode(encode(manifest), "m").monitored->value));
  manifest.monitored->value = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(decode(encode(manifest), "m").monitored, manifest.monitored);
  manifest.monitored.reset();
  EXPECT_EQ(decode(encode(manifest), "m").monitored, std::nullopt);
}

TEST(Manifest, NumbersThatJsonLacksSurviveInTheState) {
  Manifest manifest = example();
  manifest.state["callbacks"] = {{"best", std::numeric_limits<double>::infinity()},
                                 {"all", {1.5, std::nan(""), -HUGE_VAL, "inf", nullptr}}};
  const std::string text = encode(manifest);
  const nlohmann::json read = decode(text, "m").state["callbacks"];
  EXPECT_EQ(read["best"].get<double>(), HUGE_VAL);
  EXPECT_EQ(read["all"][0].get<double>(), 1.5);
  EXPECT_TRUE(std::isnan(read["all"][1].get<double>()));
  EXPECT_EQ(read["all"][2].get<double>(), -HUGE_VAL);
  EXPECT_EQ(read["all"][3], "inf");
  EXPECT_TRUE(read["all"][4].is_null());
  EXPECT_EQ(encode(decode(text, "m")), text);
}

TEST(Manifest, AnOlderVersionHasNoInputs) {
  Manifest manifest = example();
  const std::string text = forge(encode(manifest), "\"version\": 6", "\"version\": 2");
  EXPECT_TRUE(decode(text, "m").inputs.empty());
}

TEST(Manifest, TellsWhetherItKnowsWhatWasDoneToTheNetwork) {
  Manifest manifest = example();
  manifest.surgery = SurgeryRecord();
  EXPECT_EQ(decode(encode(manifest), "m").surgery, SurgeryRecord());
  manifest.surgery.reset();
  EXPECT_EQ(decode(encode(manifest), "m").surgery, std::nullopt);
  const std::string older = forge(encode(example()), "\"version\": 6", "\"version\": 4");
  EXPECT_EQ(decode(older, "m").surgery, std::nullopt);
}

TEST(Manifest, TellsWhoseWeightsStandForTheTrainedOnes) {
  Manifest manifest = example();
  manifest.standing_weights.clear();
  EXPECT_EQ(decode(encode(manifest), "m").standing_weights, "");
  const std::string older = forge(encode(example()), "\"version\": 6", "\"version\": 5");
  EXPECT_EQ(decode(older, "m").standing_weights, "") << "it does not tell";
}

TEST(Manifest, EveryFlippedBitIsSeen) {
  const std::string good = encode(example());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_THROW(decode(bad, "m"), base::CheckpointError) << bit;
  }
}

TEST(Manifest, EveryTruncationIsSeen) {
  const std::string good = encode(example());
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_THROW(decode(std::string_view(good).substr(0, size), "m"), base::CheckpointError)
        << size;
  }
  EXPECT_THAT(error_of(good + " "), HasSubstr("dir/manifest.json: damaged"));
}

TEST(Manifest, OtherVersionsAreRefusedByName) {
  const std::string text = encode(example());
  EXPECT_THAT(error_of(forge(text, "\"version\": 6", "\"version\": 9")),
              HasSubstr("it has format version 9 and this program reads up to 6"));
  EXPECT_THAT(error_of(forge(text, "\"version\": 6", "\"version\": 0")),
              HasSubstr("no format version 0"));
  EXPECT_THAT(error_of(forge(text, "paceline-checkpoint", "other")), HasSubstr("not a checkpoint"));
}

TEST(Manifest, ADeepOneIsAnErrorAndNoCrash) {
  const std::string deep = std::string(50'000, '[') + std::string(50'000, ']');
  const std::string text = forge(encode(example()), "\"none\": null", "\"none\": " + deep);
  EXPECT_THAT(message_of([&] { decode(text, "manifest.json"); }),
              ::testing::AllOf(HasSubstr("manifest.json"), HasSubstr("nested more than 64 deep")));
}

TEST(Manifest, InconsistentOnesAreRefused) {
  const std::string text = encode(example());
  EXPECT_THAT(error_of(forge(text, "\"begin\": 4", "\"begin\": 3")),
              HasSubstr("tensor 'fc.weight' has a slice from 3 to 6, expected one from 4"));
  EXPECT_THAT(error_of(forge(text, "\"end\": 6", "\"end\": 5")),
              HasSubstr("tensor 'fc.weight' has 5 elements saved of 6"));
  EXPECT_THAT(error_of(forge(text, "\"name\": \"rank-1.safetensors\"", "\"name\": \"../rank-1\"")),
              HasSubstr("bad file name '../rank-1'"));
  EXPECT_THAT(
      error_of(forge(text, "\"name\": \"rank-1.safetensors\"", "\"name\": \"rank-2.safetensors\"")),
      HasSubstr("unknown file 'rank-1.safetensors'"));
  EXPECT_THAT(error_of(forge(text, "\"name\": \"steps\"", "\"name\": \"fc.weight\"")),
              HasSubstr("listed twice"));
  EXPECT_THAT(error_of(forge(text, "\"dtype\": \"I64\"", "\"dtype\": \"I65\"")),
              HasSubstr("impossible"));
  EXPECT_THAT(error_of(forge(text, "\"order\": [\n    1,", "\"order\": [\n    2,")),
              HasSubstr("has an impossible order"));
  EXPECT_THAT(error_of(forge(text, "\"step\": 1234", "\"step\": \"x\"")),
              HasSubstr("missing or wrong"));
  EXPECT_THAT(error_of(forge(text, "ffffffffffffffff", "zz")), HasSubstr("malformed"));
}

}  // namespace
}  // namespace paceline::checkpoint
