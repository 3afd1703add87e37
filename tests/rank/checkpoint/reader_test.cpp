#include "paceline/checkpoint/reader.h"

#include "rank/checkpoint/saved_runs.h"
#include "support/unsynced_file_system.h"
#include "unit/checkpoint/messages.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ReaderTest : public ::testing::Test {
 protected:
  fs::path save(Layout layout, int world_size) {
    return save_model(dir_.path(), world_size, 5, layout, world_size, files_);
  }
  /// The message that all ranks get when they load `path` into these shards' tensors.
  static std::string load_error(const fs::path& path, const std::vector<NamedTensor>& model,
                                int world_size = 1) {
    return message_of([&] {
      test::run_ranks(world_size, [&](comm::Communicator& communicator) {
        const auto reader = open_checkpoint(path, communicator);
        const auto shards = shards_of(model, Layout::kReplicated, communicator.rank(), world_size);
        const auto before = shards_of(model, Layout::kReplicated, communicator.rank(), world_size);
        try {
          load_checkpoint(*reader, shards, ExtraTensors::kRefuse, communicator);
        } catch (const base::CheckpointError&) {
          for (std::size_t i = 0; i < shards.size(); ++i) {
            EXPECT_TRUE(shards[i].data.equal(before[i].data)) << "changed by a failed load";
          }
          throw;
        }
      });
    });
  }

  base::TempDir dir_;
  test::UnsyncedFileSystem files_;
};

TEST_F(ReaderTest, SavedByNLoadsOnM) {
  for (const int saved_with : {1, 2, 4}) {
    for (const Layout saved_as : {Layout::kReplicated, Layout::kSharded}) {
      const fs::path path = save(saved_as, saved_with);
      for (const int loaded_with : {1, 3, 4}) {
        expect_loads(path, 5, Layout::kReplicated, loaded_with);
        expect_loads(path, 5, Layout::kSharded, loaded_with);
      }
    }
  }
}

// Strategies differ in which elements a rank holds and in the order in which it counts them.
TEST_F(ReaderTest, SavedInAnyOrderLoadsInAny) {
  auto model = whole_model(5);
  model.push_back({"half.weight", at::arange(90).view({5, 2, 3, 3}).to(at::kBFloat16)});
  model.push_back({"pointwise.weight", at::arange(20, at::kFloat).view({5, 4, 1, 1})});
  model.push_back({"empty", at::empty({0, 3})});
  const auto layouts = {Layout::kReplicated, Layout::kSharded, Layout::kShardedChannelsLast};
  for (const int saved_with : {1, 2, 5}) {
    for (const Layout saved_as : layouts) {
      const fs::path path =
          save_model(dir_.path(), saved_with, model, 0, saved_as, saved_with, files_);
      for (const int loaded_with : {1, 3}) {
        for (const Layout loaded_as : layouts) expect_loads(path, model, loaded_as, loaded_with);
      }
    }
  }
}

TEST_F(ReaderTest, OrdersThatCountAlikeAreSavedAsOne) {
  const std::vector<NamedTensor> model{{"pointwise.weight", at::ones({6, 4, 1, 1})},
                                       {"conv.weight", at::ones({6, 4, 3, 3})}};
  const CheckpointReader reader(
      save_model(dir_.path(), 1, model, 0, Layout::kShardedChannelsLast, 2, files_));
  EXPECT_EQ(reader.find("pointwise.weight")->order, tensor::ElementOrder());
  EXPECT_EQ(reader.find("conv.weight")->order, (tensor::ElementOrder{0, 2, 3, 1}));
}

TEST_F(ReaderTest, GathersWholeTensors) {
  for (const Layout layout : {Layout::kSharded, Layout::kShardedChannelsLast}) {
    CheckpointReader reader(save(layout, 3));
    for (const NamedTensor& expected : whole_model(5)) {
      EXPECT_TRUE(reader.tensor(expected.name).equal(expected.tensor)) << expected.name;
    }
  }
  CheckpointReader reader(save(Layout::kSharded, 3));
  EXPECT_THAT(message_of([&] { reader.tensor("absent"); }),
              HasSubstr("there is no tensor 'absent'"));
}

TEST_F(ReaderTest, AnotherModelIsToldAllAtOnce) {
  auto other = whole_model(0);
  other[0].tensor = at::zeros({2, 3, 3, 3});
  other[1].tensor = other[1].tensor.to(at::kFloat);
  other.erase(other.begin() + 2);
  other.push_back({"head.weight", at::zeros({4})});
  EXPECT_THAT(
      load_error(save(Layout::kReplicated, 1), other, 2),
      AllOf(HasSubstr("4 of its tensors differ"),
            HasSubstr("conv.weight: saved as F32 [2, 3, 2, 2], wanted F32 [2, 3, 3, 3]"),
            HasSubstr("fc.weight: saved as F64 [3, 7], wanted F32 [3, 7]"),
            HasSubstr("head.weight: not saved, wanted F32 [4]"),
            HasSubstr("optimizer.momentum_buffer/fc.weight: saved as F64 [3, 7], not in this run"),
            Not(HasSubstr("bn.num_batches_tracked"))));
}

TEST_F(ReaderTest, ExtraTensorsMayBeIgnored) {
  const fs::path path = save(Layout::kReplicated, 1);
  auto model = whole_model(0);
  model.erase(model.begin() + 2);
  test::run_ranks(1, [&](comm::Communicator& communicator) {
    const auto reader = open_checkpoint(path, communicator);
    const auto shards = shards_of(model, Layout::kReplicated, 0, 1);
    load_checkpoint(*reader, shards, ExtraTensors::kIgnore, communicator);
    EXPECT_TRUE(shards[1].data.equal(whole_model(5)[1].tensor));
  });
}

TEST_F(ReaderTest, EveryFlippedBitOfEveryFileIsSeenBeforeTheModelChanges) {
  const fs::path path = save(Layout::kReplicated, 1);
  for (const std::string name : {"rank-0.safetensors", "manifest.json"}) {
    const std::string good = base::read_file(path / name);
    for (std::size_t byte = 0; byte < good.size(); ++byte) {
      std::string bad = good;
      bad[byte] = static_cast<char>(bad[byte] ^ (1 << (byte % 8)));
      files_.create(path / name)->write(bad);
      const std::string message = message_of([&] { CheckpointReader(path).verify(); });
      ASSERT_THAT(message, HasSubstr(name)) << byte;
    }
    files_.create(path / name)->write(good);
  }
  CheckpointReader(path).verify();
}

TEST_F(ReaderTest, AFlippedBitIsNamedWithFileAndTensorOnAllRanks) {
  const fs::path path = save(Layout::kSharded, 3);
  const fs::path file = path / "rank-1.safetensors";
  const SafetensorsFile original(file);
  const auto* entry = original.find("fc.weight[7:14]");
  ASSERT_NE(entry, nullptr);
  std::string bytes(original.all_bytes());
  bytes[entry->begin + 9] ^= 4;
  files_.create(file)->write(bytes);
  EXPECT_THAT(load_error(path, whole_model(0), 2),
              AllOf(HasSubstr("cannot load the checkpoint: rank 1: "),
                    HasSubstr("rank-1.safetensors: damaged"),
                    HasSubstr("tensor 'fc.weight' was changed"), Not(HasSubstr("conv"))));
}

TEST_F(ReaderTest, EveryTruncationIsSeenAndNamesTheTensor) {
  const fs::path path = save(Layout::kReplicated, 1);
  const fs::path file = path / "rank-0.safetensors";
  const std::string good = base::read_file(file);
  for (std::size_t size = 0; size < good.size(); ++size) {
    files_.create(file)->write(good.substr(0, size));
    ASSERT_THAT(message_of([&] { CheckpointReader reader(path); }), HasSubstr("rank-0.safetensors"))
        << size;
  }
  EXPECT_THAT(load_error(path, whole_model(0)),
              AllOf(HasSubstr("cannot open the checkpoint"), HasSubstr("tensor 'conv.weight'"),
                    HasSubstr("truncated")));
  fs::remove(file);
  EXPECT_THAT(load_error(path, whole_model(0)), HasSubstr("rank-0.safetensors: No such file"));
}

TEST(ReadShare, EverySliceIsCheckedOnceAndFilesAreOpenedByFew) {
  for (const std::size_t num_ranks : {1u, 2u, 3u, 8u, 1000u}) {
    for (const std::size_t num_files : {1u, 2u, 3u, 7u, 8u, 1000u}) {
      constexpr std::size_t kSlices = 5;
      std::vector<int> num_checks(num_files * kSlices);
      for (std::size_t rank = 0; rank < num_ranks; ++rank) {
        const ReadShare share{static_cast<int>(rank), static_cast<int>(num_ranks)};
        std::size_t num_opened = 0;
        for (std::size_t file = 0; file < num_files; ++file) {
          bool is_opened = false;
          for (std::size_t slice = 0; slice < kSlices; ++slice) {
            if (!share.has_slice(file, num_files, slice)) continue;
            ++num_checks[file * kSlices + slice];
            is_opened = true;
          }
          num_opened += is_opened ? 1 : 0;
          if (num_files == num_ranks) {
            EXPECT_EQ(is_opened, file == rank);
          }
        }
        EXPECT_LE(num_opened, (num_files + num_ranks - 1) / num_ranks);
      }
      EXPECT_THAT(num_checks, ::testing::Each(1)) << num_ranks << " ranks, " << num_files;
    }
  }
}

TEST_F(ReaderTest, ARankOpensWhatHoldsItsSlicesAndNoMore) {
  constexpr int kRanks = 8;
  const fs::path path = save(Layout::kSharded, kRanks);
  test::run_ranks(kRanks, [&](comm::Communicator& communicator) {
    const auto reader = open_checkpoint(path, communicator);
    EXPECT_EQ(reader->num_open_files(), 0u);
    const auto model = whole_model(0);
    const auto shards = shards_of(model, Layout::kSharded, communicator.rank(), kRanks);
    load_checkpoint(*reader, shards, ExtraTensors::kRefuse, communicator);
    EXPECT_LE(reader->num_open_files(), 1u);
  });
}

TEST_F(ReaderTest, WhatIsNoCheckpointSaysSo) {
  EXPECT_THAT(message_of([&] { CheckpointReader(dir_.path() / "absent"); }),
              HasSubstr("no such checkpoint"));
  EXPECT_THAT(message_of([&] { CheckpointReader reader(dir_.path()); }),
              HasSubstr("it has no manifest.json"));
}

// golden/checkpoint/make_checkpoints.py knows the format by its description alone.
TEST_F(ReaderTest, WritesTheBytesThatTheFormatSays) {
  const fs::path golden = fs::path(PACELINE_GOLDEN_DIR) / fmt::format("version-{}", kFormatVersion);
  const fs::path path = save_model(dir_.path(), 1, 5, Layout::kShardedChannelsLast, 2, files_);
  for (const char* file : {"manifest.json", "rank-0.safetensors", "rank-1.safetensors"}) {
    EXPECT_EQ(base::read_file(path / file), base::read_file(golden / file)) << file;
  }
}

// Written by the first version of the format; must load for ever.
TEST_F(ReaderTest, LoadsVersionOne) {
  expect_loads(fs::path(PACELINE_GOLDEN_DIR) / "version-1", 5, Layout::kSharded, 2);
}

TEST_F(ReaderTest, LoadsVersionTwo) {
  expect_loads(fs::path(PACELINE_GOLDEN_DIR) / "version-2", 5, Layout::kShardedChannelsLast, 2);
}

TEST_F(ReaderTest, LoadsVersionThree) {
  expect_loads(fs::path(PACELINE_GOLDEN_DIR) / "version-3", 5, Layout::kShardedChannelsLast, 2);
}

TEST_F(ReaderTest, LoadsVersionSix) {
  expect_loads(fs::path(PACELINE_GOLDEN_DIR) / "version-6", 5, Layout::kShardedChannelsLast, 2);
}

TEST_F(ReaderTest, LoadsVersionFive) {
  const fs::path golden = fs::path(PACELINE_GOLDEN_DIR) / "version-5";
  expect_loads(golden, 5, Layout::kShardedChannelsLast, 2);
  EXPECT_EQ(CheckpointReader(golden).manifest().standing_weights, "");
  const SurgeryRecord record = CheckpointReader(golden).manifest().surgery.value();
  ASSERT_EQ(record.size(), 1u);
  EXPECT_EQ(describe(record.front()), "blurpool: 1 convolutions (conv)");
}

TEST_F(ReaderTest, LoadsVersionFour) {
  const fs::path golden = fs::path(PACELINE_GOLDEN_DIR) / "version-4";
  EXPECT_FALSE(CheckpointReader(golden).manifest().surgery) << "it does not tell";
  expect_loads(golden, 5, Layout::kShardedChannelsLast, 2);
  EXPECT_THAT(CheckpointReader(golden).manifest().class_names, testing::ElementsAre("cat", "dog"));
  EXPECT_TRUE(
      CheckpointReader(fs::path(PACELINE_GOLDEN_DIR) / "version-3").manifest().class_names.empty());
}

}  // namespace
}  // namespace paceline::checkpoint
