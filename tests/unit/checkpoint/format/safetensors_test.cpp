#include "paceline/checkpoint/format/safetensors.h"

#include "paceline/base/hash.h"
#include "support/data/mutations.h"
#include "unit/checkpoint/messages.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SafetensorsTest : public ::testing::Test {
 protected:
  WrittenFile write(const std::vector<NamedTensor>& tensors, const Metadata& metadata = {}) {
    return write_safetensors(files_, path_, tensors, metadata);
  }
  /// A file with this header and `data_size` bytes of data.
  void write_raw(const std::string& header, std::size_t data_size) {
    const std::uint64_t length = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    files_.create(path_)->write(bytes + header + std::string(data_size, '\1'));
  }
  std::string error() const {
    return message_of([this] { SafetensorsFile file(path_); });
  }

  base::TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "x.safetensors";
  base::RealFileSystem files_;
};

TEST_F(SafetensorsTest, ExactBytesOfASmallFile) {
  write({{"a", at::tensor({1.0f, -2.0f})}}, {{"format", "pt"}});
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  const std::string length{static_cast<char>(header.size() + padding.size()), 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(base::read_file(path_),
            length + header + padding + std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
}

TEST_F(SafetensorsTest, EveryDtypeAndShapeReadsBack) {
  std::vector<NamedTensor> tensors;
  for (const at::ScalarType dtype :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16,
        at::kFloat, at::kDouble}) {
    tensors.push_back({c10::toString(dtype), at::arange(7).view({7, 1}).to(dtype)});
  }
  tensors.push_back({"scalar", at::scalar_tensor(3, at::kLong)});
  tensors.push_back({"empty", at::empty({0, 4})});
  tensors.push_back({"name with \"quotes\" and ü", at::ones({1})});
  const WrittenFile written = write(tensors);

  const SafetensorsFile file(path_);
  EXPECT_EQ(file.entries().size(), tensors.size());
  EXPECT_EQ(written.size, std::filesystem::file_size(path_));
  EXPECT_EQ(written.header_checksum, base::xxh3(file.header()));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto* entry = file.find(tensors[i].name);
    ASSERT_NE(entry, nullptr) << tensors[i].name;
    EXPECT_EQ(entry->dtype, tensors[i].tensor.scalar_type());
    EXPECT_TRUE(file.tensor(*entry).equal(tensors[i].tensor)) << tensors[i].name;
    EXPECT_EQ(written.tensor_checksums[i], base::xxh3(file.bytes(*entry)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes(*entry).data()) %
                  c10::elementSize(entry->dtype),
              0u);
  }
  EXPECT_EQ(file.find("absent"), nullptr);
}

TEST_F(SafetensorsTest, OtherLayoutsAreStoredRowMajor) {
  const at::Tensor images = at::arange(48, at::kFloat).view({2, 3, 2, 4});
  write({{"channels_last", images.contiguous(at::MemoryFormat::ChannelsLast)},
         {"transposed", images.view({6, 8}).t()},
         {"slice", images.slice(3, 1, 3)}});
  const SafetensorsFile file(path_);
  EXPECT_TRUE(file.tensor(*file.find("channels_last")).equal(images));
  EXPECT_TRUE(file.tensor(*file.find("transposed")).equal(images.view({6, 8}).t()));
  EXPECT_TRUE(file.tensor(*file.find("slice")).equal(images.slice(3, 1, 3)));
}

TEST_F(SafetensorsTest, SourcesAreLoadedOneAtATime) {
  int alive = 0;
  std::vector<TensorSource> sources;
  for (const std::int64_t size : {3, 2}) {
    sources.push_back({fmt::format("of {}", size), at::kFloat, {size}, [&alive, size] {
                         EXPECT_EQ(alive++, 0);
                         return at::from_blob(
                             new float[3]{1, 2, 3}, {size},
                             [&alive](void* data) {
                               --alive;
                               delete[] static_cast<float*>(data);
                             },
                             at::kFloat);
                       }});
  }
  write_safetensors(files_, path_, sources, {});
  EXPECT_EQ(alive, 0);
  const SafetensorsFile file(path_);
  EXPECT_TRUE(file.tensor(*file.find("of 2")).equal(at::tensor({1.0f, 2.0f})));
}

TEST_F(SafetensorsTest, OtherLayoutsOfManyChunks) {
  const at::Tensor weight = at::arange(3 * 70 * 50 * 60, at::kInt).view({3, 70, 50, 60});
  const at::Tensor channels_last = weight.contiguous(at::MemoryFormat::ChannelsLast);
  const WrittenFile written = write({{"weight", channels_last}});
  const SafetensorsFile file(path_);
  EXPECT_TRUE(file.tensor(*file.find("weight")).equal(weight));
  EXPECT_EQ(written.tensor_checksums[0], base::xxh3(file.bytes(*file.find("weight"))));
}

TEST_F(SafetensorsTest, ReadsForeignFilesThatAreNotAligned) {
  write_raw(
      R"({"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"f":{"dtype":"F32","shape":[1],"data_offsets":[3,7]} } )",
      7);
  const SafetensorsFile file(path_);
  EXPECT_EQ(file.tensor(*file.find("f")).sizes(), at::IntArrayRef({1}));
  EXPECT_EQ(file.tensor(*file.find("b")).sum().item<int>(), 3);
}

TEST_F(SafetensorsTest, Metadata) {
  write({}, {{"format", "pt"}, {"step", "7"}});
  EXPECT_EQ(SafetensorsFile(path_).metadata(), (Metadata{{"format", "pt"}, {"step", "7"}}));
}

TEST_F(SafetensorsTest, EveryTruncationIsRefused) {
  write({{"a", at::ones({3})}, {"b", at::ones({2}, at::kByte)}});
  const std::string whole = base::read_file(path_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    files_.create(path_)->write(whole.substr(0, size));
    EXPECT_THAT(error(), HasSubstr("x.safetensors")) << size;
  }
  files_.create(path_)->write(whole.substr(0, whole.size() - 1));
  EXPECT_THAT(error(),
              HasSubstr("tensor 'b' ends at byte 14 of the data, the file has 13: truncated"));
  files_.create(path_)->write(whole + "x");
  EXPECT_THAT(error(), HasSubstr("1 bytes at the end belong to no tensor"));
}

TEST_F(SafetensorsTest, DamagedHeadersAreRefusedWithTheReason) {
  const auto error_for = [this](const std::string& header, std::size_t data_size) {
    write_raw(header, data_size);
    return error();
  };
  const auto one = [](const std::string& dtype, const std::string& shape,
                      const std::string& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  EXPECT_THAT(error_for("[]", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_for("{\"w\":", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_for(R"({"w":{"dtype":"F32"}})", 0),
              HasSubstr("tensor 'w' is described wrongly"));
  EXPECT_THAT(error_for(one("F32", "[-1]", "[0,4]"), 4),
              HasSubstr("tensor 'w' is described wrongly"));
  EXPECT_THAT(error_for(one("F32", "[1.5]", "[0,4]"), 4),
              HasSubstr("tensor 'w' is described wrongly"));
  EXPECT_THAT(error_for(one("F32", "[1]", "[0,4,8]"), 8),
              HasSubstr("tensor 'w' is described wrongly"));
  EXPECT_THAT(error_for(one("F8_E4M3", "[1]", "[0,1]"), 1),
              HasSubstr("tensor 'w' has the unknown dtype 'F8_E4M3'"));
  EXPECT_THAT(error_for(one("F32", "[2]", "[0,4]"), 4),
              HasSubstr("tensor 'w' has 4 bytes, which is not F32 of [2]"));
  EXPECT_THAT(error_for(one("F32", "[1]", "[4,0]"), 4), HasSubstr("before its begin"));
  EXPECT_THAT(error_for(one("F32", "[4294967296,4294967296]", "[0,0]"), 0),
              HasSubstr("which is not F32"));
  EXPECT_THAT(error_for(one("F32", "[1]", "[4,8]"), 8),
              HasSubstr("4 bytes before tensor 'w' belong to none"));
  EXPECT_THAT(error_for(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                        R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                        3),
              HasSubstr("tensor 'b' overlaps"));
  EXPECT_THAT(error_for(R"({"__metadata__":{"a":1}})", 0), HasSubstr("metadata 'a' is not text"));
}

TEST_F(SafetensorsTest, AFileThatIsCutOffWhileItIsOpenIsAnErrorAndNoCrash) {
  write({{"a", at::ones({100'000})}});
  const SafetensorsFile file(path_);
  std::filesystem::resize_file(path_, 4096);
  EXPECT_THAT(message_of([&] { file.tensor(*file.find("a")); }), HasSubstr("cut off"));
}

TEST_F(SafetensorsTest, AHugeHeaderIsNotAllocated) {
  files_.create(path_)->write(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
  EXPECT_THAT(error(), HasSubstr("its header would have 9223372036854775807 bytes"));
}

TEST_F(SafetensorsTest, RefusesTwoTensorsOfOneName) {
  EXPECT_THROW(write({{"a", at::ones({1})}, {"a", at::ones({1})}}), base::InternalError);
}

/// Another digit in place of some of the header's: offsets, sizes and dtypes that lie.
void change_digits(std::string& bytes, std::size_t header_end, std::mt19937& random) {
  for (auto changes = 1 + random() % 3; changes > 0; --changes) {
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(8 + random() % (header_end - 8));
    const auto digit = std::find_if(from, bytes.begin() + static_cast<std::ptrdiff_t>(header_end),
                                    [](char c) { return c >= '0' && c <= '9'; });
    if (digit != bytes.end()) *digit = static_cast<char>('0' + random() % 10);
  }
}

TEST_F(SafetensorsTest, FuzzedFilesAreReadOrRefused) {
  write({{"a", at::arange(12, at::kFloat).view({3, 4})},
         {"b", at::arange(5)},
         {"empty", at::empty({0, 4})},
         {"c", at::ones({2, 2}, at::kBool)}},
        {{"format", "pt"}});
  const std::string whole = base::read_file(path_);
  const std::size_t header_end = SafetensorsFile(path_).header().size();
  const data::MemoryFile memory;
  int refused = 0;
  const int count = data::repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes = whole;
    if (random() % 2 == 0) {
      change_digits(bytes, header_end, random);
    } else {
      data::mutate(bytes, random);
    }
    try {
      const SafetensorsFile file(memory.write(bytes));
      for (const auto& entry : file.entries()) file.tensor(entry).sum();
    } catch (const base::CheckpointError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count);
}

}  // namespace
}  // namespace paceline::checkpoint
