#include "paceline/data/pack/packer.h"

#include "paceline/base/error.h"
#include "paceline/data/pack/packed_dataset.h"
#include "paceline/data/pack/shard_reader.h"
#include "paceline/data/sources/arrays.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/pipeline.h"
#include "paceline/dataset_tools/synth.h"
#include "support/data/npy_files.h"
#include "support/data/scarce_memory.h"
#include "support/faulty_file_system.h"
#include "support/power_loss_file_system.h"
#include "support/temp_folder.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::FaultyFileSystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class PackerTest : public ::testing::Test {
 protected:
  PackerTest() {
    dataset_tools::SynthOptions options;
    options.path = source_path().string();
    options.classes = 3;
    options.train_per_class = 7;
    options.val_per_class = 1;
    options.min_size = 16;
    options.max_size = 24;
    dataset_tools::synthesize_image_folder(options, 1);
  }

  fs::path source_path() const { return folder_.path() / "source"; }
  fs::path packed_path() const { return folder_.path() / "packed"; }
  std::unique_ptr<Dataset> source() const {
    return open_image_folder(source_path(), "train", "train");
  }
  PackOptions options(std::int64_t samples_per_shard = 4) const {
    return {.folder = packed_path(), .samples_per_shard = samples_per_shard, .num_threads = 2};
  }
  static std::string bytes_of(const Dataset& dataset, std::int64_t index) {
    StoredSample sample;
    dataset.get(index, sample);
    return {sample.bytes.begin(), sample.bytes.end()};
  }
  void expect_same_samples(const Dataset& packed, const Dataset& source) const {
    ASSERT_EQ(packed.size(), source.size());
    EXPECT_EQ(packed.class_names(), source.class_names());
    for (std::int64_t i = 0; i < source.size(); ++i) {
      EXPECT_EQ(packed.label(i), source.label(i));
      EXPECT_EQ(packed.name(i), source.name(i));
      EXPECT_EQ(bytes_of(packed, i), bytes_of(source, i));
    }
  }

  TempFolder folder_;
  base::RealFileSystem files_;
};

TEST_F(PackerTest, HoldsTheSamplesOfItsSourceInTheirOrder) {
  std::int64_t last_done = 0;
  const PackResult result =
      pack(*source(), options(), files_, [&](std::int64_t done, std::int64_t total) {
        EXPECT_EQ(done, ++last_done);
        EXPECT_EQ(total, 21);
      });
  EXPECT_TRUE(result.is_complete());
  EXPECT_EQ(result.written_shards, 6);
  const PackedDataset packed(packed_path());
  expect_same_samples(packed, *source());
  EXPECT_EQ(packed.manifest().mode, "files");
  EXPECT_THAT(packed.describe(5),
              AllOf(HasSubstr("shard-00001.pack"), HasSubstr(source()->name(5))));
}

class PackerModeTest : public PackerTest, public ::testing::WithParamInterface<PackMode> {};

TEST_P(PackerModeTest, PixelsAreThoseOfTheFiles) {
  PackOptions other = options();
  other.mode = GetParam();
  pack(*source(), other, files_);
  const PackedDataset packed(packed_path());
  EXPECT_EQ(packed.manifest().mode, name_of(GetParam()));
  const auto files = source();
  const TransformPipeline pipeline({ResizeConfig{20}, CenterCropConfig{16}});
  TransformScratch scratch;
  std::vector<float> expected(3 * 16 * 16);
  std::vector<float> got(expected.size());
  for (std::int64_t i = 0; i < files->size(); ++i) {
    StoredSample sample;
    files->get(i, sample);
    pipeline.run(sample, {}, scratch, {expected.data()});
    packed.get(i, sample);
    EXPECT_EQ(sample.width > 0, GetParam() == PackMode::kPixels);
    pipeline.run(sample, {}, scratch, {got.data()});
    EXPECT_EQ(got, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, PackerModeTest,
                         ::testing::Values(PackMode::kIndexed, PackMode::kCoefficients,
                                           PackMode::kPixels),
                         [](const auto& of) { return std::string(name_of(of.param)); });

TEST_F(PackerTest, AnInterruptedCallGoesOnWhereItWas) {
  FaultyFileSystem faulty([](std::string_view operation, const fs::path& path) {
    return operation == "create" && path.string().find("shard-00003") != std::string::npos ? ENOSPC
                                                                                           : 0;
  });
  PackOptions one_thread = options();
  one_thread.num_threads = 1;
  EXPECT_THROW(pack(*source(), one_thread, faulty), base::FileError);
  EXPECT_THAT([&] { PackedDataset{packed_path()}; },
              ThrowsMessage<base::DataError>(HasSubstr("whose packing has not ended")));
  const PackResult result = pack(*source(), one_thread, files_);
  EXPECT_EQ(result.found_shards, 3);
  EXPECT_EQ(result.written_shards, 3);
  expect_same_samples(PackedDataset(packed_path()), *source());
}

TEST_F(PackerTest, ADamagedShardIsWrittenAnew) {
  pack(*source(), options(), files_);
  const std::string fingerprint = PackedDataset(packed_path()).fingerprint();
  fs::resize_file(packed_path() / "shard-00002.pack", 100);
  EXPECT_THAT([&] { PackedDataset{packed_path()}; },
              ThrowsMessage<base::DataError>(HasSubstr("shard-00002.pack")));
  EXPECT_EQ(pack(*source(), options(), files_).written_shards, 1);
  EXPECT_EQ(PackedDataset(packed_path()).fingerprint(), fingerprint);
}

TEST_F(PackerTest, SeveralMachinesShareTheWork) {
  PackOptions second = options();
  second.part = 1;
  second.num_parts = 2;
  const PackResult half = pack(*source(), second, files_);
  EXPECT_EQ(half.written_shards, 3);
  EXPECT_EQ(half.missing_shards, 3);
  EXPECT_FALSE(fs::exists(packed_path() / kPackManifestName));
  PackOptions first = second;
  first.part = 0;
  EXPECT_TRUE(pack(*source(), first, files_).is_complete());
  expect_same_samples(PackedDataset(packed_path()), *source());
}

TEST_F(PackerTest, AFolderOfAnotherPackIsRefused) {
  pack(*source(), options(), files_);
  EXPECT_THAT([&] { pack(*source(), options(5), files_); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("shard-00000.pack"), HasSubstr("other options"))));
}

TEST_F(PackerTest, DamagedFilesEndTheWorkOrAreLeftOut) {
  const std::string victim = source()->describe(9);
  fs::resize_file(victim, fs::file_size(victim) / 2);
  EXPECT_THAT([&] { pack(*source(), options(), files_); },
              ThrowsMessage<base::DataError>(AllOf(HasSubstr(victim), HasSubstr("truncated"))));
  PackOptions tolerant = options();
  tolerant.skips_damaged = true;
  const PackResult result = pack(*source(), tolerant, files_);
  EXPECT_THAT(result.left_out, ElementsAre(HasSubstr(victim)));
  const PackedDataset packed(packed_path());
  EXPECT_EQ(packed.size(), 20);
  EXPECT_EQ(packed.manifest().num_source_samples, 21);
  EXPECT_EQ(packed.name(9), source()->name(10));
}

TEST_F(PackerTest, ASampleThatThereIsNoMemoryForIsLeftOut) {
  const auto images = source();
  const paceline::test::ScarceMemory scarce(*images, 9);
  EXPECT_THAT([&] { pack(scarce, options(), files_); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr(images->describe(9)), HasSubstr("not enough memory"))));
  PackOptions tolerant = options();
  tolerant.skips_damaged = true;
  EXPECT_THAT(pack(scarce, tolerant, files_).left_out, ElementsAre(HasSubstr("not enough memory")));
}

TEST_F(PackerTest, AShardInAnothersPlaceIsWrittenAnewOrRefused) {
  pack(*source(), options(), files_);
  fs::copy_file(packed_path() / "shard-00000.pack", packed_path() / "shard-00001.pack",
                fs::copy_options::overwrite_existing);
  EXPECT_THROW(pack(*source(), options(), files_), base::ConfigError);
}

TEST_F(PackerTest, OneShardHoldsAllHoweverManyAreAskedFor) {
  EXPECT_EQ(pack(*source(), options(INT64_MAX), files_).written_shards, 1);
  expect_same_samples(PackedDataset(packed_path()), *source());
}

TEST_F(PackerTest, AnIndexedPackCanBePackedAgain) {
  PackOptions indexed = options();
  indexed.mode = PackMode::kIndexed;
  pack(*source(), indexed, files_);
  PackOptions again = options();
  again.folder = folder_.path() / "again";
  again.mode = PackMode::kCoefficients;
  pack(PackedDataset(packed_path()), again, files_);
  EXPECT_THAT(bytes_of(PackedDataset(again.folder), 0), ::testing::StartsWith("PACECOE1"));
}

TEST_F(PackerTest, ClassNamesThatManifestsCannotHoldAreToldAtOnce) {
  fs::rename(source_path() / "train" / source()->class_names()[0], source_path() / "train/caf\xE9");
  EXPECT_THAT([&] { pack(*source(), options(), files_); },
              ThrowsMessage<base::DataError>(HasSubstr("not UTF-8")));
  EXPECT_FALSE(fs::exists(packed_path()));
}

TEST_F(PackerTest, OptionsThatMakeNoSenseAreRefused) {
  PackOptions wrong = options();
  wrong.part = 2;
  wrong.num_parts = 2;
  EXPECT_THAT([&] { pack(*source(), wrong, files_); },
              ThrowsMessage<base::ConfigError>(HasSubstr("part 2 of 2")));
}

TEST_F(PackerTest, WhatAPartHasPackedSurvivesAPowerLoss) {
  const auto holds = [&](bool is_complete) {
    return [this, is_complete](const fs::path& disk) -> std::string {
      try {
        const fs::path packed = disk / "packed";
        if (!is_complete)
          return ShardReader(packed / "shard-00000.pack").num_samples() == 11 ? ""
                                                                              : "it lacks samples";
        const PackedDataset dataset(packed);
        const auto original = source();
        for (std::int64_t i = 0; i < original->size(); ++i)
          if (bytes_of(dataset, i) != bytes_of(*original, i)) return "a sample is damaged";
        return "";
      } catch (const base::Error& error) {
        return error.what();
      }
    };
  };
  const paceline::test::PowerLossScenario scenario{
      .run = [&](paceline::test::PowerLossFileSystem& files, const fs::path& root) {
        for (const int part : {0, 1}) {
          pack(*source(),
               {.folder = root / "packed",
                .samples_per_shard = 11,
                .part = part,
                .num_parts = 2,
                .num_threads = 1},
               files);
          files.expect(holds(part == 1));
        }
      }};
  EXPECT_EQ(problem_of(scenario), "");
  EXPECT_THAT(syncs_without_need(scenario), ElementsAre("sync_directory packed (2)"))
      << "the last shard's, right before the manifest's";
}

TEST(Packer, ModesOfImagesAreRefusedForArrays) {
  const TempFolder folder;
  folder.write("train/volume.npy", paceline::test::npy_file<float>("<f4", {2, 3}));
  const auto source = open(ArraysConfig{.path = folder.path().string()}, Split::kTrain);
  base::RealFileSystem files;
  EXPECT_THAT(
      [&] {
        pack(*source, {.folder = folder.path() / "packed", .mode = PackMode::kPixels}, files);
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("mode pixels is of images")));
}

}  // namespace
}  // namespace paceline::data
