#include "paceline/checkpoint/format/torch_file.h"

#include "paceline/tensor/torch.h"
#include "support/data/mutations.h"
#include "unit/checkpoint/messages.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::literals;

std::string saved_by_torch(const std::string& name) {
  return base::read_file(std::filesystem::path(PACELINE_GOLDEN_DIR) / "torch" / name);
}

/// The bytes with `from`, at its first place behind `after`, turned into as many others.
std::string changed(std::string bytes, std::string_view after, std::string_view from,
                    std::string_view to) {
  const std::size_t start = bytes.find(after);
  const std::size_t at = start == std::string::npos ? start : bytes.find(from, start);
  if (at == std::string::npos || from.size() != to.size()) {
    ADD_FAILURE() << "there is no '" << from << "' behind '" << after << "'";
    return bytes;
  }
  return bytes.replace(at, from.size(), to);
}

class TorchFileTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }

  /// Opens the file and loads every tensor in it.
  void read_all(const std::string& bytes) const {
    const TorchFile file(write(bytes));
    for (const auto& [name, value] : file.value().entries) {
      if (const auto tensor = file.find_tensor(*value, name->text)) file.load(*tensor).sum();
    }
  }

  std::string message_for(const std::string& bytes) const {
    return message_of([&] { read_all(bytes); });
  }

  base::TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "weights.pth";
};

TEST_F(TorchFileTest, IsKnownByItsStart) {
  for (const char* file : {"weights.pth", "weights_legacy.pth", "weights_protocol4.pth"})
    EXPECT_TRUE(is_torch_file(saved_by_torch(file))) << file;
  EXPECT_FALSE(is_torch_file(saved_by_torch("expected.safetensors")));
  EXPECT_FALSE(is_torch_file(""));
  EXPECT_FALSE(is_torch_file(std::string("\x80\x02\0\0\0\0\0\0{", 9)))
      << "a safetensors file with a header of 640 bytes";
}

TEST_F(TorchFileTest, EveryTruncationIsAnError) {
  for (const char* file : {"weights.pth", "weights_legacy.pth"}) {
    const std::string whole = saved_by_torch(file);
    for (std::size_t size = 0; size < whole.size(); size += 13)
      EXPECT_THAT(message_for(whole.substr(0, size)), HasSubstr("weights.pth")) << size;
  }
}

TEST_F(TorchFileTest, SizesThatLieAreRefusedByTheTensorsName) {
  const std::string whole = saved_by_torch("weights.pth");
  const std::string_view name = "plain.weight";
  // Sizes (2, 3), strides (3, 1) and 6 elements of the storage.
  EXPECT_THAT(message_for(changed(whole, name, "K\x02K\x03\x86", "K\xffK\x03\x86")),
              AllOf(HasSubstr("tensor 'plain.weight'"), HasSubstr("[255, 3] with strides [3, 1]"),
                    HasSubstr("24 bytes")));
  EXPECT_THAT(message_for(changed(whole, name, "K\x03K\x01\x86", "K\x03K\x09\x86")),
              HasSubstr("strides [3, 9]"));
  EXPECT_THAT(message_for(changed(whole, name, "K\x06t", "K\x07t")),
              AllOf(HasSubstr("tensor 'plain.weight'"), HasSubstr("24 bytes"),
                    HasSubstr("7 elements of Float")));
  EXPECT_THAT(message_for(changed(whole, name, "FloatStorage", "ShortStorage")),
              HasSubstr("Short"));
  EXPECT_THAT(message_for(changed(whole, name, "FloatStorage", "FloatStorago")),
              HasSubstr("torch.FloatStorago"));
  EXPECT_THAT(message_for(changed(whole, name, "QK\0"sv, "QK\1"sv)),
              HasSubstr("from element 1 on"));
}

TEST_F(TorchFileTest, StoragesThatAreNotThereAreTold) {
  const std::string whole = saved_by_torch("weights.pth");
  EXPECT_THAT(message_for(changed(whole, "FloatStorage", "X\1\0\0\0\060"sv, "X\1\0\0\0x"sv)),
              HasSubstr("the file has no storage 'x'"));
}

TEST_F(TorchFileTest, WhatIsNoArchiveOfTorchIsTold) {
  EXPECT_THAT(message_for("PK\x03\x04 and nothing else"), HasSubstr("truncated"));
  EXPECT_THAT(message_for("neither"), HasSubstr("not a readable pickle"));
  EXPECT_THAT(message_for("\x80\x02K\x07."), HasSubstr("not one of torch.save"));
  EXPECT_THAT(message_for(changed(saved_by_torch("weights.pth"), "byteorder", "little", "bigbig")),
              HasSubstr("big endian"));
}

TEST_F(TorchFileTest, OldFilesThatLieAreRefused) {
  const std::string whole = saved_by_torch("weights_legacy.pth");
  EXPECT_THAT(message_for(changed(whole, "\x8a\x0a", "M\xe9\x03", "M\xe9\x04")),
              HasSubstr("version 1257"));
  EXPECT_THAT(message_for(changed(whole, "little_endian", "\x88", "\x89")),
              HasSubstr("big endian"));
  EXPECT_THAT(message_for(changed(whole, "plain.weight", "K\x02K\x03\x86", "K\xffK\x03\x86")),
              HasSubstr("tensor 'plain.weight'"));
}

TEST_F(TorchFileTest, AFileThatIsCutOffLaterIsAnError) {
  const TorchFile file(write(saved_by_torch("weights.pth")));
  const auto& [name, value] = file.value().entries.front();
  const auto tensor = file.find_tensor(*value, name->text);
  ASSERT_TRUE(tensor);
  std::filesystem::resize_file(path_, 100);
  EXPECT_THAT(message_of([&] { file.load(*tensor); }), HasSubstr("cut off"));
}

TEST_F(TorchFileTest, RecordsOfAnArchiveAreFound) {
  const TorchFile file(write(saved_by_torch("weights.pth")));
  EXPECT_EQ(file.record("byteorder"), "little");
  EXPECT_EQ(file.record("absent"), std::nullopt);
}

TEST_F(TorchFileTest, FuzzedFilesAreReadOrRefused) {
  const data::MemoryFile file;
  int refused = 0;
  const int count = data::repeat_fuzzing([&](std::mt19937& random) {
    constexpr std::array kFiles{"weights.pth", "weights_legacy.pth", "weights_protocol4.pth"};
    std::string bytes = saved_by_torch(kFiles[random() % kFiles.size()]);
    data::mutate(bytes, random);
    try {
      const TorchFile opened(file.write(bytes));
      for (const auto& [name, value] : opened.value().entries) {
        const auto tensor = opened.find_tensor(*value, name->text);
        if (tensor && c10::multiply_integers(tensor->shape) < 1'000'000) opened.load(*tensor).sum();
      }
    } catch (const base::CheckpointError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count);
}

}  // namespace
}  // namespace paceline::checkpoint
