#include "paceline/checkpoint/format/torch_writer.h"

#include "paceline/checkpoint/format/torch_file.h"
#include "paceline/tensor/torch.h"

#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

TEST(TorchWriter, WritesWhatTorchFileReads) {
  const std::vector<NamedTensor> tensors{
      {"conv.weight", at::rand({4, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast)},
      {"bn.num_batches_tracked", at::scalar_tensor(300, at::kLong)},
      {"half", at::rand({3}).to(at::kHalf)},
      {"double", at::rand({2, 2}, at::kDouble).t()},
      {"empty", at::empty({0, 3})},
      {"flags", at::ones({2}, at::kBool)}};
  const base::TempDir dir;
  const auto path = dir.path() / "weights.pt";
  base::RealFileSystem files;
  write_torch_file(files, path, sources_of(tensors), {{"step", "7"}});
  const TorchFile file(path);
  EXPECT_EQ(file.record(kTorchMetadata), R"({"step":"7"})");
  ASSERT_EQ(file.value().entries.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, value] = file.value().entries[i];
    EXPECT_EQ(name->text, tensors[i].name);
    const auto tensor = file.find_tensor(*value, name->text);
    ASSERT_TRUE(tensor) << name->text;
    EXPECT_EQ(tensor->bytes.begin % 64, 0u) << name->text;
    EXPECT_EQ(tensor->dtype, tensors[i].tensor.scalar_type());
    EXPECT_TRUE(file.load(*tensor).equal(tensors[i].tensor)) << name->text;
  }
}

}  // namespace
}  // namespace paceline::checkpoint
