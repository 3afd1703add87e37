#include "paceline/data/pack/packed_dataset.h"

#include "paceline/base/error.h"
#include "paceline/data/loader/loader.h"
#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/pack/packer.h"
#include "paceline/data/pack/shard_reader.h"
#include "paceline/data/pack/shard_writer.h"
#include "paceline/data/remote/remote_config.h"
#include "paceline/data/sources/arrays.h"
#include "paceline/data/sources/synthetic.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/pipeline.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/data/npy_files.h"
#include "support/data/same_samples.h"
#include "support/temp_folder.h"

#include <chrono>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Ten samples of three classes in shards of four.
fs::path pack_ten(const TempFolder& folder) {
  base::RealFileSystem files;
  const SyntheticDataset source(10, 3, 8, 0);
  const fs::path path = folder.path() / "packed";
  pack(source, {.folder = path, .samples_per_shard = 4}, files);
  return path;
}

TEST(PackedDataset, FindsSamplesAcrossShards) {
  const TempFolder folder;
  const PackedDataset packed(pack_ten(folder));
  const SyntheticDataset source(10, 3, 8, 0);
  ASSERT_EQ(packed.size(), 10);
  EXPECT_EQ(packed.num_classes(), 3);
  for (std::int64_t i = 0; i < 10; ++i) {
    StoredSample expected;
    StoredSample got;
    source.get(i, expected);
    packed.get(i, got);
    EXPECT_EQ(got.bytes, expected.bytes);
    EXPECT_EQ(got.label, expected.label);
    EXPECT_EQ(packed.label(i), expected.label);
    EXPECT_EQ(got.width, 8);
  }
}

/// A folder of arrays with labels, packed in shards of two.
fs::path pack_arrays(const TempFolder& folder) {
  using paceline::test::npy_file;
  folder.write("train/volume.npy", npy_file<std::int16_t>("<i2", {5, 1, 2, 2, 2}));
  folder.write("train/labels.npy", npy_file<std::uint8_t>("|u1", {5}));
  base::RealFileSystem files;
  const auto source = open(ArraysConfig{.path = folder.path().string()}, Split::kTrain);
  const fs::path path = folder.path() / "packed" / "train";
  pack(*source, {.folder = path, .samples_per_shard = 2}, files);
  return path;
}

TEST(PackedDataset, HoldsArraysAsTheyWere) {
  const TempFolder folder;
  const PackedDataset packed(pack_arrays(folder));
  const auto source = open(ArraysConfig{.path = folder.path().string()}, Split::kTrain);
  EXPECT_EQ(packed.stored_fields(), source->stored_fields());
  EXPECT_EQ(packed.num_classes(), 5);
  ASSERT_EQ(packed.size(), 5);
  for (std::int64_t i = 0; i < 5; ++i) {
    StoredSample expected;
    StoredSample got;
    source->get(i, expected);
    packed.get(i, got);
    EXPECT_EQ(got.bytes, expected.bytes);
    EXPECT_EQ(got.label, i);
    EXPECT_EQ(got.width, 0);
  }
}

TEST(PackedDataset, FieldsOfAnotherSizeAreRefused) {
  const TempFolder folder;
  const fs::path path = pack_arrays(folder);
  std::string manifest = base::read_file(path / "manifest.json");
  manifest.replace(manifest.find("int16"), 5, "int32");
  folder.write("packed/train/manifest.json", manifest);
  EXPECT_THAT([&] { PackedDataset packed(path); },
              ThrowsMessage<base::DataError>(HasSubstr("are not the fields that the manifest")));
}

/// What opening says of a pack whose manifest was changed.
template <class Change>
std::string said_of(const fs::path& path, const Change& change) {
  PackManifest manifest = read_pack_manifest(path);
  change(manifest);
  std::ofstream(path / "manifest.json") << to_json(manifest);
  try {
    const PackedDataset packed(path);
    return fmt::format("{} samples of {} classes", packed.size(), packed.num_classes());
  } catch (const base::DataError& error) {
    return error.what();
  }
}

TEST(PackedDataset, LabelsOfArraysAreClassesWhereThereAreAny) {
  const TempFolder folder;
  EXPECT_THAT(
      said_of(pack_arrays(folder), [](PackManifest& manifest) { manifest.classes.pop_back(); }),
      HasSubstr("its label is 4, but the manifest has 4 classes"));
  const TempFolder images;
  EXPECT_THAT(said_of(pack_ten(images), [](PackManifest& manifest) { manifest.classes.clear(); }),
              AllOf(HasSubstr("/shard-0000"), HasSubstr("but the manifest has 0 classes")));
  const TempFolder unlabelled;
  unlabelled.write("train/volume.npy", paceline::test::npy_file<float>("<f4", {3, 2, 2}));
  base::RealFileSystem files;
  const auto source = open(ArraysConfig{.path = unlabelled.path().string()}, Split::kTrain);
  pack(*source, {.folder = unlabelled.path() / "packed"}, files);
  EXPECT_EQ(said_of(unlabelled.path() / "packed", [](PackManifest&) {}), "3 samples of 0 classes");
}

TEST(PackedDataset, HoldsFieldsIfAndOnlyIfTheManifestListsThem) {
  const TempFolder folder;
  EXPECT_THAT(said_of(pack_arrays(folder), [](PackManifest& manifest) { manifest.fields.clear(); }),
              HasSubstr("are not the fields that the manifest lists"));
  const TempFolder images;
  const FieldSpec field{.name = "volume", .type = FieldType::kUInt8, .sizes = {3, 8, 8}};
  EXPECT_THAT(said_of(pack_ten(images), [&](PackManifest& manifest) { manifest.fields = {field}; }),
              HasSubstr("are not the fields that the manifest lists"));
}

TEST(PackedDataset, EverySampleOfAShardIsLookedAt) {
  const TempFolder folder;
  const fs::path path = pack_arrays(folder);
  constexpr std::size_t kWhole = 1 + 8 * 2;  // a label and eight numbers
  const auto said_of_second = [&](std::int64_t label, std::size_t size) {
    base::RealFileSystem files;
    const std::vector<std::uint8_t> bytes(kWhole);
    ShardWriter writer(files, path / "shard-00000.pack", 0, 0);
    writer.add({.payload = bytes, .kind = PayloadKind::kFields});
    writer.add(
        {.payload = std::span(bytes).first(size), .kind = PayloadKind::kFields, .label = label});
    writer.finish();
    const ShardReader shard(path / "shard-00000.pack");
    return said_of(path, [&](PackManifest& manifest) {
      manifest.shards[0].hash = shard.hash();
      manifest.shards[0].size_bytes = shard.size_bytes();
    });
  };
  EXPECT_EQ(said_of_second(4, kWhole), "5 samples of 5 classes");
  EXPECT_THAT(said_of_second(4, kWhole - 1), HasSubstr("its 16 bytes are not the fields"));
  EXPECT_THAT(said_of_second(5, kWhole), HasSubstr("its label is 5"));
}

TEST(PackedDataset, HasMoreShardsThanMayBeOpen) {
  const TempFolder folder;
  base::RealFileSystem files;
  const SyntheticDataset source(300, 3, 4, 0);
  const fs::path path = folder.path() / "packed";
  pack(source, {.folder = path, .samples_per_shard = 1}, files);
  const PackedDataset packed(path);
  const auto open_files =
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  EXPECT_LT(open_files, 290);
  StoredSample sample;
  for (std::int64_t i = 0; i < 300; ++i) {
    packed.get(i, sample);
    EXPECT_EQ(sample.label, source.label(i));
  }
}

TEST(PackedDataset, TheFingerprintIsThatOfTheContent) {
  const TempFolder folder;
  const TempFolder other;
  base::RealFileSystem files;
  EXPECT_EQ(PackedDataset(pack_ten(folder)).fingerprint(),
            PackedDataset(pack_ten(other)).fingerprint());
  const fs::path path = folder.path() / "later samples";
  pack(SyntheticDataset(10, 3, 8, 1), {.folder = path, .samples_per_shard = 4}, files);
  EXPECT_NE(PackedDataset(path).fingerprint(), PackedDataset(pack_ten(other)).fingerprint());
}

TEST(PackedDataset, RefusesAShardThatTheManifestDoesNotList) {
  const TempFolder folder;
  const fs::path path = pack_ten(folder);
  fs::copy_file(path / "shard-00000.pack", path / "shard-00001.pack",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT([&] { PackedDataset{path}; },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("shard-00001.pack"), HasSubstr("not the shard that"))));
  fs::remove(path / "shard-00001.pack");
  EXPECT_THAT([&] { PackedDataset{path}; },
              ThrowsMessage<base::DataError>(HasSubstr("shard-00001.pack")));
}

TEST(PackedDataset, RefusesLabelsWithoutAClass) {
  const TempFolder folder;
  const fs::path path = pack_ten(folder);
  PackManifest manifest = read_pack_manifest(path);
  manifest.classes.pop_back();
  folder.write("packed/manifest.json", to_json(manifest));
  EXPECT_THAT([&] { PackedDataset{path}; },
              ThrowsMessage<base::DataError>(HasSubstr("the manifest has 2 classes")));
}

TEST(PackedDataset, OfAnotherMachineIsTheSame) {
  const TempFolder folder;
  const PackedDataset here(pack_ten(folder));
  const auto storage = test::copy_of(folder.path(), "https://host");
  const PackedDataset there("https://host/packed", storage);
  test::expect_same_samples(there, here);
}

TEST(PackedDataset, ReadsAgainWhatWasDamagedOnItsWay) {
  const TempFolder folder;
  pack_ten(folder);
  const auto storage = test::copy_of(folder.path(), "s3://b");
  const PackedDataset packed("s3://b/packed", storage);
  std::string& shard = storage->files.at("s3://b/packed/shard-00000.pack");
  const std::string sound = shard;
  StoredSample sample;
  packed.get(0, sample);
  const auto expected = sample.bytes;
  const std::vector<std::int64_t> first = {0};
  shard[sizeof(ShardHeader) + 10] ^= 1;
  const std::int64_t read_before = storage->bytes_read;
  packed.will_read(first);
  while (storage->bytes_read == read_before) std::this_thread::yield();
  while (storage->num_at_once > 0) std::this_thread::yield();
  shard = sound;
  packed.get(0, sample);
  EXPECT_EQ(sample.bytes, expected);
  shard[sizeof(ShardHeader) + 10] ^= 1;
  EXPECT_THAT([&] { packed.get(0, sample); },
              ThrowsMessage<base::DataError>(AllOf(HasSubstr("s3://b"), HasSubstr("damaged"))));
}

TEST(PackedDataset, ReadsAnIndexAgainThatWasDamagedOnItsWay) {
  const TempFolder folder;
  pack_ten(folder);
  const auto storage = test::copy_of(folder.path(), "s3://b");
  bool is_damaged = false;
  storage->disturb = [&](const std::string& path, std::uint64_t, auto bytes) {
    if (path.ends_with("shard-00001.pack") && !std::exchange(is_damaged, true)) bytes.front() ^= 1;
  };
  EXPECT_EQ(PackedDataset("s3://b/packed", storage).size(), 10);
  EXPECT_TRUE(is_damaged);
}

/// Samples of 110 kB in any order, each 50 ms away, through a line of 125 MB/s. Measures, so it is
/// not run by itself: --gtest_also_run_disabled_tests --gtest_filter=*ThrottledLine.
TEST(PackedDataset, DISABLED_KeepsAThrottledLineBusy) {
  constexpr double kLineRate = 125e6;
  const TempFolder folder;
  base::RealFileSystem files;
  constexpr std::int64_t kNumSamples = 3000;
  pack(SyntheticDataset(kNumSamples, 10, 192, 0),
       {.folder = folder.path() / "packed", .samples_per_shard = 250}, files);
  const auto storage = test::copy_of(folder.path(), "s3://b");
  storage->connections = RemoteConfig().connections;
  const PackedDataset packed("s3://b/packed", storage);
  storage->latency = std::chrono::milliseconds(50);
  storage->bytes_per_second = kLineRate;
  const TransformPipeline pipeline({CenterCropConfig{32}});
  LoaderOptions options;
  options.global_batch_size = 64;
  options.num_threads = 2;
  const auto loader = make_data_loader(packed, make_images(pipeline), options);
  const auto begin = std::chrono::steady_clock::now();
  loader->next();
  const auto first = std::chrono::steady_clock::now();
  const std::int64_t before = storage->bytes_read;
  for (int i = 0; i < 150; ++i) loader->next();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - first).count();
  const double rate = static_cast<double>(storage->bytes_read - before) / seconds;
  fmt::print(
      "first batch after {:.3f} s, then {:.1f} MB/s, {:.1f} % of the line; {} reads at once\n",
      std::chrono::duration<double>(first - begin).count(), rate / 1e6, 100 * rate / kLineRate,
      storage->most_at_once.load());
  EXPECT_GE(rate, 0.9 * kLineRate);
}

}  // namespace
}  // namespace paceline::data
