#include "paceline/pretrained/weight_files.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

TEST(WeightFiles, TheUsualOnesInTurn) {
  std::vector<std::string> files{
      "README.md",         "model.safetensors", "model.safetensors.index.json",
      "pytorch_model.bin", "open_clip.bin",     "open_clip.safetensors"};
  EXPECT_EQ(choose_weight_file(files, "open_clip.bin"), "open_clip.safetensors");
  files.pop_back();
  EXPECT_EQ(choose_weight_file(files, "open_clip.bin"), "open_clip.bin");
  EXPECT_EQ(choose_weight_file(files, ""), "model.safetensors");
  files.erase(files.begin() + 1);
  EXPECT_EQ(choose_weight_file(files, "absent.bin"), "model.safetensors.index.json");
  files.erase(files.begin() + 1);
  EXPECT_EQ(choose_weight_file(files, ""), "pytorch_model.bin");
}

TEST(WeightFiles, TheOnlyOneIsMeant) {
  EXPECT_EQ(choose_weight_file(std::vector<std::string>{"x.md", "net.pth"}, ""), "net.pth");
  const std::vector<std::string> two{"a.pth", "b.safetensors", "x.md"};
  EXPECT_EQ(choose_weight_file(two, ""), std::nullopt);
  EXPECT_THAT([&] { refuse_repository("hf:some/net", two, ""); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("hf:some/net has none of model.safetensors"),
                        HasSubstr("as in hf:some/net:a.pth"),
                        HasSubstr("there are: a.pth, b.safetensors"), Not(HasSubstr("x.md")))));
  EXPECT_THAT([&] { refuse_repository("hf:some/net", std::vector<std::string>{"x.md"}, ""); },
              ThrowsMessage<base::ConfigError>(HasSubstr("there are: x.md")));
}

TEST(WeightFiles, TimmsConfigNamesAFile) {
  const test::TempFolder folder;
  const auto named = [&](const std::string& json) {
    return weight_file_in_config(folder.write("config.json", json));
  };
  EXPECT_EQ(named(R"({"pretrained_cfg": {"hf_hub_filename": "x.bin"}})"), "x.bin");
  EXPECT_EQ(named(R"({"hf_hub_filename": "y.bin", "pretrained_cfg": {}})"), "y.bin");
  EXPECT_EQ(named(R"({"pretrained_cfg": {"hf_hub_filename": null}})"), "");
  EXPECT_EQ(named("[1]"), "");
  EXPECT_THAT([&] { named("{"); }, ThrowsMessage<base::DataError>(HasSubstr("config.json")));
}

TEST(WeightFiles, ShardsOfAnIndex) {
  const test::TempFolder folder;
  const auto shards = [&](const std::string& json) {
    return shards_in_index(folder.write("model.safetensors.index.json", json));
  };
  EXPECT_THAT(shards(R"({"weight_map": {"a": "2.safetensors", "b": "1.safetensors",
                                        "c": "2.safetensors"}})"),
              ElementsAre("1.safetensors", "2.safetensors"));
  for (const char* wrong :
       {R"({"weight_map": {"a": "../x.safetensors"}})",
        R"({"weight_map": {"a": "/x.safetensors"}})", R"({"weight_map": {"a": "x.py"}})",
        R"({"weight_map": {"a": 1}})", R"({"weight_map": {}})", "[]"})
    EXPECT_THROW(shards(wrong), base::DataError) << wrong;
  EXPECT_TRUE(is_index("part/model.safetensors.index.json"));
  EXPECT_FALSE(is_index("model.safetensors"));
  EXPECT_EQ(beside("part/model.safetensors.index.json", "1.safetensors"), "part/1.safetensors");
  EXPECT_EQ(beside("model.safetensors.index.json", "1.safetensors"), "1.safetensors");
}

}  // namespace
}  // namespace paceline::pretrained
