#include "paceline/checkpoint/format/torch_pickle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using namespace std::literals;

/// The text must outlive what is read.
base::ReadPickle read_text(std::string_view text) {
  return read_torch_pickle({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

/// What stands for a tensor: a storage of 6 floats named "0", offset 1, sizes (2, 2), strides (1,
/// 2).
std::string tensor_text(std::string_view function, std::string_view storage = "torch\nFloatStorage",
                        std::string_view more = "\x89)"sv) {
  std::string text =
      "\x80\x02"
      "c";
  text += function;
  text += "\n((U\x07storagec";
  text += storage;
  text +=
      "\nU\x01"
      "0U\x03"
      "cpuK\x06tQK\x01K\x02K\x02\x86K\x01K\x02\x86";
  text += more;
  return text + "tR.";
}

TEST(TorchPickle, TellsTensors) {
  const std::string text = tensor_text("torch._utils\n_rebuild_tensor_v2");
  const auto tensor = tensor_reference(*read_text(text).value);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->storage.key, "0");
  EXPECT_EQ(tensor->storage.numel, 6);
  EXPECT_EQ(tensor->dtype, at::kFloat);
  EXPECT_EQ(tensor->offset, 1);
  EXPECT_THAT(tensor->shape, ElementsAre(2, 2));
  EXPECT_THAT(tensor->strides, ElementsAre(1, 2));
}

TEST(TorchPickle, OfABytesStorageTheTensorHasTheDtype) {
  const std::string text = tensor_text("torch._utils\n_rebuild_tensor_v3",
                                       "torch.storage\nUntypedStorage", "\x89)ctorch\nint16\n"sv);
  const auto tensor = tensor_reference(*read_text(text).value);
  ASSERT_TRUE(tensor);
  EXPECT_TRUE(tensor->storage.is_untyped);
  EXPECT_EQ(tensor->dtype, at::kShort);
}

TEST(TorchPickle, StoragesOfAllDtypesAreKnown) {
  for (const char* name : {"Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char",
                           "Byte", "Bool", "ComplexFloat", "ComplexDouble"}) {
    const std::string text =
        tensor_text("torch._utils\n_rebuild_tensor_v2", fmt::format("torch\n{}Storage", name));
    const auto pickle = read_text(text);
    EXPECT_EQ(c10::toString(tensor_reference(*pickle.value)->dtype), std::string(name));
  }
  const std::string quantised =
      tensor_text("torch._utils\n_rebuild_tensor_v2", "torch\nQInt8Storage");
  const auto pickle = read_text(quantised);
  EXPECT_THAT([&] { tensor_reference(*pickle.value); },
              ThrowsMessage<base::PickleError>(HasSubstr("torch.qint8")));
}

TEST(TorchPickle, OtherNamesAreRefusedWithTheCure) {
  for (const char* global :
       {"builtins\neval", "posix\nsystem", "numpy\ndtype", "argparse\nNamespace", "torch\nload",
        "torch.nn.modules.linear\nLinear", "torch\nStorage"}) {
    EXPECT_THAT(
        [&] {
          read_text(
              fmt::format("\x80\x02"
                          "c{}\n.",
                          global));
        },
        ThrowsMessage<base::PickleError>(HasSubstr("torch.save(model.state_dict()")))
        << global;
  }
}

TEST(TorchPickle, WhatIsNoTensorIsToldSo) {
  for (const auto text : {"\x80\x02K\x07."sv,
                          "\x80\x02"
                          "ccollections\nOrderedDict\n)R."sv,
                          "\x80\x02"
                          "ctorch\nSize\nK\x02\x85\x85R."sv}) {
    const auto pickle = read_text(text);
    EXPECT_EQ(tensor_reference(*pickle.value), std::nullopt);
  }
  const auto sparse = read_text(
      "\x80\x02"
      "ctorch._utils\n_rebuild_sparse_tensor\n)R."sv);
  EXPECT_THROW(tensor_reference(*sparse.value), base::PickleError);
}

TEST(TorchPickle, DescriptionsThatLieAreErrors) {
  for (const auto& text :
       {tensor_text("torch._utils\n_rebuild_tensor_v2", "torch\nSize"),
        tensor_text("torch._utils\n_rebuild_tensor_v3", "torch\nFloatStorage", "\x89)N"sv),
        "\x80\x02"
        "ctorch._utils\n_rebuild_tensor\n(NK\x01K\x02\x85K\x01\x85tR."s}) {
    const auto pickle = read_text(text);
    EXPECT_THROW(tensor_reference(*pickle.value), base::PickleError);
  }
}

TEST(TorchPickle, EveryValueIsVisitedOnce) {
  const auto pickle = read_text("\x80\x02]q\x01(h\x01K\x01K\x02\x85q\x02h\x02}K\x03K\x04se."sv);
  int num_visited = 0;
  visit_values(*pickle.value, [&](const base::PickleValue&) { ++num_visited; });
  EXPECT_EQ(num_visited, 7) << "a list in itself, a tuple twice, a dict, and four numbers";
}

}  // namespace
}  // namespace paceline::checkpoint
