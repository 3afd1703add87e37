#include "paceline/checkpoint/weights/stored_weights.h"

#include "paceline/checkpoint/weights/weights.h"
#include "paceline/tensor/torch.h"
#include "unit/checkpoint/messages.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A folder with two parts and an index of them.
class PartsTest : public ::testing::Test {
 protected:
  PartsTest() {
    write_part("part-1.safetensors", {{"a", at::ones({2})}, {"b", at::ones({3})}});
    write_part("part-2.safetensors", {{"c", at::ones({4})}});
  }

  void write_part(const std::string& name, const std::vector<NamedTensor>& tensors) {
    export_weights(files_, dir_.path() / name, tensors);
  }
  void write_index(const std::string& text) const {
    std::ofstream(dir_.path() / "model.safetensors.index.json") << text;
  }
  std::string refusal(const std::string& weight_map) const {
    write_index("{\"weight_map\": " + weight_map + "}");
    const std::string message = message_of([&] { open_weights(dir_.path()); });
    EXPECT_THAT(message, HasSubstr("model.safetensors.index.json"));
    return message;
  }

  base::TempDir dir_;
  base::RealFileSystem files_;
};

constexpr const char* kAll =
    R"({"a": "part-1.safetensors", "b": "part-1.safetensors", "c": "part-2.safetensors"})";

TEST_F(PartsTest, AreReadAsOne) {
  write_index(fmt::format("{{\"metadata\": {{}}, \"weight_map\": {}}}", kAll));
  for (const auto& path : {dir_.path(), dir_.path() / "model.safetensors.index.json"}) {
    const StoredWeights weights = open_weights(path);
    ASSERT_EQ(weights.tensors.size(), 3u);
    for (const TensorSource& source : weights.tensors)
      EXPECT_EQ(source.load().sum().item<double>(), static_cast<double>(source.shape[0]));
  }
}

TEST_F(PartsTest, AnIndexThatDoesNotFitItsPartsIsRefused) {
  EXPECT_THAT(refusal(R"({"a": "part-1.safetensors", "c": "part-2.safetensors"})"),
              AllOf(HasSubstr("tensor 'b' is in part-1"), HasSubstr("index has it not")));
  EXPECT_THAT(refusal(R"({"a": "part-1.safetensors", "b": "part-1.safetensors",
                          "d": "part-1.safetensors"})"),
              HasSubstr("tensor 'd' is not in part-1"));
  EXPECT_THAT(refusal(R"({"a": "part-3.safetensors"})"),
              AllOf(HasSubstr("part-3.safetensors"), HasSubstr("fetch it, too")));
  for (const char* outside : {"../weights.safetensors", "/etc/passwd", "..", ""})
    EXPECT_THAT(refusal(fmt::format(R"({{"a": "{}"}})", outside)),
                HasSubstr("no file of the same folder"))
        << outside;
  EXPECT_THAT(refusal("[1]"), HasSubstr("no weight_map"));
  write_index("{");
  EXPECT_THAT(message_of([&] { open_weights(dir_.path()); }), HasSubstr("damaged"));
}

TEST_F(PartsTest, AFolderIsKnownByItsFile) {
  EXPECT_EQ(find_weight_file(dir_.path()), std::nullopt);
  const auto touch = [&](const std::string& name) { std::ofstream(dir_.path() / name) << "x"; };
  touch("other.safetensors.index.json");
  EXPECT_EQ(find_weight_file(dir_.path()), dir_.path() / "other.safetensors.index.json");
  touch("another.bin.index.json");
  EXPECT_EQ(find_weight_file(dir_.path()), std::nullopt) << "either could be meant";
  touch("pytorch_model.bin.index.json");
  EXPECT_EQ(find_weight_file(dir_.path()), dir_.path() / "pytorch_model.bin.index.json");
  touch("model.safetensors");
  EXPECT_EQ(find_weight_file(dir_.path()), dir_.path() / "model.safetensors");
}

TEST_F(PartsTest, ASafetensorsFileHasNoKeys) {
  EXPECT_THAT(message_of([&] { open_weights(dir_.path() / "part-1.safetensors", "ema"); }),
              HasSubstr("model.pretrained_key: ema"));
}

}  // namespace
}  // namespace paceline::checkpoint
