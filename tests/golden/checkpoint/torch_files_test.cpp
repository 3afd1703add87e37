#include "paceline/base/error.h"
#include "paceline/checkpoint/format/safetensors.h"
#include "paceline/checkpoint/weights/stored_weights.h"
#include "paceline/tensor/torch.h"

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

std::filesystem::path torch_golden(const std::string& name) {
  return std::filesystem::path(PACELINE_GOLDEN_DIR) / "torch" / name;
}

/// Fails unless the weights have the values of a safetensors file, and no others.
void expect_equal(const StoredWeights& weights, const std::string& expected,
                  const std::string& prefix = "") {
  const SafetensorsFile file(torch_golden(expected));
  EXPECT_EQ(weights.tensors.size(), file.entries().size());
  for (const TensorSource& source : weights.tensors) {
    ASSERT_TRUE(source.name.starts_with(prefix)) << source.name;
    const auto* const entry = file.find(source.name.substr(prefix.size()));
    ASSERT_NE(entry, nullptr) << source.name;
    EXPECT_EQ(source.dtype, entry->dtype) << source.name;
    EXPECT_EQ(source.shape, entry->shape) << source.name;
    EXPECT_TRUE(source.load().equal(file.tensor(*entry))) << source.name;
  }
}

class TorchFilesGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(TorchFilesGolden, HoldWhatPythonSaved) {
  const StoredWeights weights = open_weights(torch_golden(GetParam()));
  EXPECT_THAT(weights.notes, IsEmpty());
  expect_equal(weights, "expected.safetensors");
}

INSTANTIATE_TEST_SUITE_P(OfEveryFormat, TorchFilesGolden,
                         ::testing::Values("weights.pth", "weights_legacy.pth",
                                           "weights_protocol4.pth"));

TEST(TorchFilesGolden, StridesAreKeptAsViewsOfTheFile) {
  for (const TensorSource& source : open_weights(torch_golden("weights.pth")).tensors) {
    if (source.name != "transposed") continue;
    EXPECT_EQ(source.load().strides(), at::IntArrayRef({1, 6}));
  }
}

TEST(TorchFilesGolden, WeightsAreFoundInWhatTrainingProgramsSave) {
  struct Case {
    const char* file;
    const char* key;
    const char* prefix;
  };
  for (const auto& [file, key, prefix] :
       std::vector<Case>{{"own_loop.pt", "model_state_dict", "module."},
                         {"lightning.ckpt", "state_dict", "net."},
                         {"composer.pt", "state.model", "_orig_mod.module."},
                         {"timm.pth.tar", "state_dict", ""},
                         {"deit.pth", "model", ""}}) {
    const StoredWeights weights = open_weights(torch_golden(file));
    ASSERT_FALSE(weights.notes.empty()) << file;
    EXPECT_EQ(weights.notes.front(), fmt::format("taken from '{}' in the file", key));
    expect_equal(weights, "small.safetensors", prefix);
  }
}

TEST(TorchFilesGolden, OthersAreTakenByTheirKeyOnly) {
  EXPECT_THAT(open_weights(torch_golden("timm.pth.tar")).notes,
              ElementsAre(HasSubstr("'state_dict'"), HasSubstr("state_dict_ema")));
  expect_equal(open_weights(torch_golden("timm.pth.tar"), "state_dict_ema"), "other.safetensors");
  expect_equal(open_weights(torch_golden("deit.pth"), "model_ema"), "other.safetensors");
  expect_equal(open_weights(torch_golden("composer.pt"), "state.model"), "small.safetensors",
               "_orig_mod.module.");
  EXPECT_THAT([] { open_weights(torch_golden("only_ema.pth")); },
              ThrowsMessage<base::CheckpointError>(
                  AllOf(HasSubstr("only_ema.pth"), HasSubstr("epoch (an integer)"),
                        HasSubstr("set model.pretrained_key to one of model_ema"))));
  EXPECT_THAT([] { open_weights(torch_golden("deit.pth"), "ema"); },
              ThrowsMessage<base::CheckpointError>(
                  AllOf(HasSubstr("model.pretrained_key: ema"), HasSubstr("model, model_ema"))));
  EXPECT_THAT([] { open_weights(torch_golden("no_weights.pt")); },
              ThrowsMessage<base::CheckpointError>(
                  AllOf(HasSubstr("epoch (an integer), lr (a number)"), HasSubstr("torch.save"))));
}

TEST(TorchFilesGolden, PartsAreOne) {
  for (const char* path : {"parts_safetensors", "parts_safetensors/model.safetensors.index.json",
                           "parts_bin", "parts_bin/pytorch_model.bin.index.json"}) {
    const StoredWeights weights = open_weights(torch_golden(path));
    const SafetensorsFile expected(torch_golden("expected.safetensors"));
    ASSERT_EQ(weights.tensors.size(), 3u) << path;
    for (const TensorSource& source : weights.tensors)
      EXPECT_TRUE(source.load().equal(expected.tensor(*expected.find(source.name)))) << path;
  }
}

TEST(TorchFilesGolden, WhatIsMoreThanTensorsIsRefusedWithTheCure) {
  const std::map<std::string, std::vector<std::string>> said{
      {"whole_model.pt", {"__main__.Net", "torch.save(model.state_dict()"}},
      {"sparse.pt", {"tensor 'w'", "_rebuild_sparse_tensor"}},
      {"complex.pt", {"tensor 'w'", "ComplexFloat"}},
      {"script.pt", {"TorchScript", "state_dict()"}},
      {"compressed.pt", {"is compressed", "torch.save"}},
      {"other.zip", {"has no data.pkl", "Unpack it"}}};
  for (const auto& [file, words] : said) {
    for (const std::string& word : words) {
      EXPECT_THAT([&] { open_weights(torch_golden(file)); },
                  ThrowsMessage<base::CheckpointError>(AllOf(HasSubstr(file), HasSubstr(word))));
    }
  }
}

}  // namespace
}  // namespace paceline::checkpoint
