#include "paceline/data/sources/ct/ct_dataset.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "support/data/cache_home.h"
#include "support/data/ct_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class CtDatasetTest : public ::testing::Test {
 protected:
  CtDatasetTest() { files_.write(folder_); }

  std::unique_ptr<CtDataset> open(const CtConfig& config, const std::string& split = "train",
                                  bool has_xrays = true) const {
    return std::make_unique<CtDataset>(folder_.path() / "ct", split, config, has_xrays);
  }
  static std::vector<std::uint8_t> bytes_of(const CtDataset& dataset, std::int64_t index) {
    StoredSample sample{.bytes = std::vector<std::uint8_t>(7), .width = 3, .height = 4, .label = 5};
    dataset.get(index, sample);
    EXPECT_EQ(sample.width, 0);
    EXPECT_EQ(sample.height, 0);
    EXPECT_EQ(sample.label, 0);
    return sample.bytes;
  }
  /// X-rays of a sample of this side.
  static std::vector<float> xrays_of(const CtDataset& dataset, std::int64_t index) {
    const auto bytes = bytes_of(dataset, index);
    std::vector<float> xrays(dataset.projector().num_pixels());
    const auto voxels = static_cast<std::size_t>(dataset.side() * dataset.side() * dataset.side());
    std::memcpy(xrays.data(), bytes.data() + 2 * voxels, xrays.size() * sizeof(float));
    return xrays;
  }

  /// As `paceline data prepare ct` names those of 16 pixels a side.
  void name_xrays_in_manifest() const {
    const std::string array = base::read_file(folder_.path() / "ct/train/xrays_16.npy");
    nlohmann::json manifest =
        nlohmann::json::parse(base::read_file(folder_.path() / "ct/ct_manifest.json"));
    manifest["xrays"] = {{"size", 16}};
    for (auto& patient : manifest["patients"]) {
      const std::size_t size = 2 * 256 * 2;
      const auto index = patient["index"].get<std::size_t>();
      patient["hashes"].push_back(
          base::xxh3_128_hex(std::string_view(array).substr(128 + index * size, size)));
    }
    folder_.write("ct/ct_manifest.json", manifest.dump());
  }

  paceline::test::CacheHome cache_home_;
  paceline::test::TempFolder folder_;
  paceline::test::CtFiles files_;
  CtConfig projected_{.side = 8, .xray_size = 8, .full_scale = 1};
};

TEST_F(CtDatasetTest, ASampleIsAVolumeItsXraysAndTheCubesSize) {
  const auto dataset = open(projected_);
  EXPECT_EQ(dataset->size(), 3);
  EXPECT_EQ(dataset->num_classes(), 0);
  EXPECT_THAT(dataset->class_names(), IsEmpty());
  EXPECT_THAT(dataset->stored_fields(),
              ElementsAre(FieldSpec{"volume", FieldType::kInt16, {8, 8, 8}},
                          FieldSpec{"xrays", FieldType::kFloat32, {2, 8, 8}},
                          FieldSpec{"fov_mm", FieldType::kFloat64}));
  const auto bytes = bytes_of(*dataset, 1);
  ASSERT_EQ(bytes.size(), 2 * 512 + 4 * 128 + 8u);
  const auto cube = files_.cube("train", 1, 8);
  EXPECT_EQ(std::memcmp(bytes.data(), cube.data(), 1024), 0);
  double fov_mm = 0;
  std::memcpy(&fov_mm, bytes.data() + bytes.size() - 8, 8);
  EXPECT_EQ(fov_mm, 400);
  std::vector<float> wanted(128);
  dataset->projector().integrate(std::vector<float>(cube.begin(), cube.end()), 8, wanted);
  dataset->projector().to_intensities(wanted);
  EXPECT_EQ(xrays_of(*dataset, 1), wanted);
}

TEST_F(CtDatasetTest, PatientsHaveTheirCodesAndPlaces) {
  const auto dataset = open(projected_, "val");
  EXPECT_EQ(dataset->name(1), "val000000000001");
  EXPECT_THAT(dataset->describe(1), HasSubstr("val: patient val000000000001"));
  EXPECT_EQ(dataset->affine(0)[2], (std::array<double, 4>{0, 0, 50, 7}));
  EXPECT_EQ(open({.side = 4, .xray_size = 8})->affine(0)[2],
            (std::array<double, 4>{0, 0, 100, 32}));
}

TEST_F(CtDatasetTest, MovedPatientsHaveNoStoredXrays) {
  const auto dataset = open(projected_, "train", /*has_xrays=*/false);
  EXPECT_EQ(dataset->stored_fields().size(), 2u);
  EXPECT_EQ(bytes_of(*dataset, 0).size(), 1024 + 8u);
}

TEST_F(CtDatasetTest, FilesAreTakenWhereThereAreSome) {
  files_.write_xrays(folder_, "train", 3, 16);
  files_.write_xrays(folder_, "train", 3, 8);
  const auto dataset = open({.side = 8});
  EXPECT_TRUE(dataset->has_xray_files());
  EXPECT_EQ(dataset->projector().size(), 16) << "the largest";
  const volume::ViewRays rays({.fov_mm = 400}, 90, {16, 16});
  const auto wanted = volume::exact_view(files_.phantom("train", 2, 400), rays, 400);
  const auto xrays = xrays_of(*dataset, 2);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(xrays[256 + i], std::min(1.0F, wanted[i]), 1.0 / 65535);
  EXPECT_EQ(open(projected_)->projector().size(), 8);
  EXPECT_FALSE(open({.side = 8, .xrays = XraySource::kProjected})->has_xray_files());
  EXPECT_THAT([&] { open({.side = 8, .xray_size = 12}); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("data.xray_size"), HasSubstr("X-rays of 8, 16 rows"))));
}

TEST_F(CtDatasetTest, OfFilesThatTheManifestKnowsSomeViewsMayBeTaken) {
  files_.write_xrays(folder_, "train", 3, 16);
  const auto views = [&](const std::vector<double>& angles) {
    CtConfig config{.side = 8};
    config.geometry.angles = angles;
    return xrays_of(*open(config), 2);
  };
  const auto views_of_one = [&] { return views({90}); };
  EXPECT_THAT(views_of_one, ThrowsMessage<base::DataError>(
                                AllOf(HasSubstr("holds 2 views"), HasSubstr("names 1"))))
      << "nothing says what they are";
  name_xrays_in_manifest();
  const auto both = views({0, 90});
  const std::vector<float> frontal(both.begin(), both.begin() + 256);
  const std::vector<float> lateral(both.begin() + 256, both.end());
  EXPECT_EQ(views({0}), frontal);
  EXPECT_EQ(views({90}), lateral);
  EXPECT_NE(frontal, lateral);
  const auto fingerprint = [&](double angle) {
    CtConfig config{.side = 8};
    config.geometry.angles = {angle};
    return open(config)->fingerprint();
  };
  EXPECT_NE(fingerprint(0), fingerprint(90));
  auto turned = lateral;
  turned.insert(turned.end(), frontal.begin(), frontal.end());
  EXPECT_EQ(views({90, 0}), turned);
  EXPECT_THAT([&] { views({0, 45, 90}); }, ThrowsMessage<base::DataError>(HasSubstr("names 3")));
}

TEST_F(CtDatasetTest, OneSplitIsNotProjectedWhereAnotherHasFiles) {
  EXPECT_THAT([&] { open({.side = 8, .xrays = XraySource::kFiles}); },
              ThrowsMessage<base::DataError>(HasSubstr("holds no xrays_SIZE.npy")));
  files_.write_xrays(folder_, "train", 3, 16);
  EXPECT_THAT([&] { open({.side = 8}, "val"); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("/val: holds no xrays_SIZE.npy"), HasSubstr("projected"))));
}

TEST_F(CtDatasetTest, FilesAreRefusedWherePatientsAreMoved) {
  files_.write_xrays(folder_, "train", 3, 16);
  EXPECT_THAT([&] { open({.side = 8, .augment = {.shift_mm = 3}}); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("data.augment"), HasSubstr("write data.xrays: projected"))));
}

TEST_F(CtDatasetTest, ADamagedVolumeIsNamedByItsPatient) {
  std::string array = base::read_file(folder_.path() / "ct/train/volume_8.npy");
  array[array.size() - 3] ^= 1;
  folder_.write("ct/train/volume_8.npy", array);
  const auto dataset = open(projected_);
  EXPECT_NO_THROW(bytes_of(*dataset, 1));
  EXPECT_THAT([&] { bytes_of(*dataset, 2); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("train/volume_8.npy: what it holds of patient train000000000002"),
                        HasSubstr("data prepare ct` again"))));
}

TEST_F(CtDatasetTest, DamagedXraysAreNamedByTheirPatient) {
  files_.write_xrays(folder_, "train", 3, 16);
  name_xrays_in_manifest();
  std::string array = base::read_file(folder_.path() / "ct/train/xrays_16.npy");
  EXPECT_NO_THROW(bytes_of(*open({.side = 8}), 2));
  array[array.size() - 3] ^= 1;
  folder_.write("ct/train/xrays_16.npy", array);
  const auto dataset = open({.side = 8});
  EXPECT_NO_THROW(bytes_of(*dataset, 1));
  EXPECT_THAT([&] { bytes_of(*dataset, 2); },
              ThrowsMessage<base::DataError>(
                  HasSubstr("xrays_16.npy: what it holds of patient train000000000002")));
}

TEST_F(CtDatasetTest, AFileThatBecameShorterIsRefused) {
  const auto dataset = open(projected_);
  std::filesystem::resize_file(folder_.path() / "ct/train/volume_8.npy", 200);
  EXPECT_THAT([&] { bytes_of(*dataset, 0); },
              ThrowsMessage<base::DataError>(HasSubstr("has become shorter")));
}

TEST_F(CtDatasetTest, TheFingerprintFollowsPatientsAndViews) {
  const std::string usual = open(projected_)->fingerprint();
  EXPECT_EQ(open(projected_)->fingerprint(), usual);
  EXPECT_NE(open(projected_, "val")->fingerprint(), usual);
  EXPECT_NE(open({.side = 4, .xray_size = 8})->fingerprint(), usual);
  EXPECT_NE(open({.side = 8, .xray_size = 9})->fingerprint(), usual);
  CtConfig turned = projected_;
  turned.geometry.angles = {0, 80};
  EXPECT_NE(open(turned)->fingerprint(), usual);
  CtConfig cached = projected_;
  cached.cache_in_memory = "1GiB";
  EXPECT_EQ(open(cached)->fingerprint(), usual) << "the same samples";
  files_.write_xrays(folder_, "train", 3, 8);
  const std::string of_files = open(projected_)->fingerprint();
  EXPECT_NE(of_files, usual);
  std::string array = base::read_file(folder_.path() / "ct/train/xrays_8.npy");
  array[array.size() - 100] ^= 1;
  folder_.write("ct/train/xrays_8.npy", array);
  EXPECT_NE(open(projected_)->fingerprint(), of_files);
}

TEST_F(CtDatasetTest, TheFingerprintFollowsAllViewsOfFiles) {
  constexpr std::int64_t kSize = 128;
  files_.write_xrays(folder_, "train", 3, kSize);
  const auto path = folder_.path() / fmt::format("ct/train/xrays_{}.npy", kSize);
  const std::string sound = base::read_file(path);
  const auto fingerprint = [&] { return open({.side = 8, .xray_size = kSize})->fingerprint(); };
  const std::string usual = fingerprint();
  for (std::size_t view = 0; view < 6; ++view) {
    std::string other = sound;
    other[other.size() - 2 * kSize * kSize * view - kSize * kSize] ^= 1;
    folder_.write(fmt::format("ct/train/xrays_{}.npy", kSize), other);
    EXPECT_NE(fingerprint(), usual) << "the middle of view " << view;
  }
}

class CtCacheTest : public CtDatasetTest {
 protected:
  CtCacheTest() { projected_.cache_in_memory = "1GiB"; }

  std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> entries;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(cache_home_.path() / "paceline/ct-xrays")) {
      if (entry.is_regular_file()) entries.push_back(entry.path());
    }
    return entries;
  }
};

TEST_F(CtCacheTest, ProjectionsAreKeptForAllWhoComeLater) {
  const auto uncached = open({.side = 8, .xray_size = 8, .full_scale = 1});
  const auto first = open(projected_);
  const auto wanted = xrays_of(*uncached, 1);
  EXPECT_EQ(xrays_of(*first, 1), wanted);
  ASSERT_EQ(entries().size(), 1u);
  const auto written = std::filesystem::file_size(entries()[0]);
  EXPECT_EQ(written, 128 * 4 + 16);
  EXPECT_EQ(xrays_of(*open(projected_), 1), wanted);
  EXPECT_EQ(entries().size(), 1u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(xrays_of(*first, i), xrays_of(*uncached, i));
  EXPECT_EQ(entries().size(), 3u);
}

TEST_F(CtCacheTest, WhatWasKeptIsWhatIsGiven) {
  const auto dataset = open(projected_);
  const auto projected = xrays_of(*dataset, 0);
  // An entry that is written by hand is found: nothing was projected the second time.
  ByteCache cache(cache_home_.path() / "paceline/ct-xrays", 1 << 30);
  std::vector<float> other(128, 0.25F);
  const auto cube = files_.cube("train", 0, 8);
  cache.put(base::xxh3_128_hex(paceline::test::CtFiles::bytes_of(cube)) + ", " +
                dataset->projector().key(),
            {reinterpret_cast<const std::uint8_t*>(other.data()), 512});
  EXPECT_EQ(xrays_of(*open(projected_), 0), other);
}

TEST_F(CtCacheTest, ADamagedEntryIsProjectedAnew) {
  const auto wanted = xrays_of(*open(projected_), 0);
  std::string entry = base::read_file(entries().at(0));
  entry.back() ^= 1;
  std::ofstream(entries().at(0), std::ios::binary) << entry;
  EXPECT_EQ(xrays_of(*open(projected_), 0), wanted);
}

TEST_F(CtCacheTest, OtherVolumesAndViewsHaveEntriesOfTheirOwn) {
  xrays_of(*open(projected_), 0);
  files_.fov_mm = 300;
  files_.write(folder_);
  CtConfig uncached = projected_;
  uncached.cache_in_memory.reset();
  EXPECT_EQ(xrays_of(*open(projected_), 0), xrays_of(*open(uncached), 0));
  uncached.geometry.angles = {0, 45};
  projected_.geometry.angles = {0, 45};
  EXPECT_EQ(xrays_of(*open(projected_), 0), xrays_of(*open(uncached), 0));
  EXPECT_EQ(entries().size(), 3u);
}

TEST_F(CtCacheTest, TheBoundHasToHoldPatients) {
  projected_.cache_in_memory = "64KiB";
  EXPECT_THAT([&] { open(projected_); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("data.cache_in_memory: is 64KiB"), HasSubstr("132.0 KiB"))));
  projected_.cache_in_memory = "140KiB";
  std::vector<std::string> lines;
  const base::LogRedirection log(
      [&](base::LogLevel, std::string_view line) { lines.emplace_back(line); });
  open(projected_);
  EXPECT_THAT(lines, IsEmpty());
  files_.train = 160;
  files_.sides = {4};
  files_.write(folder_);
  open({.side = 4, .xray_size = 8, .cache_in_memory = "140KiB"});
  EXPECT_THAT(lines, ElementsAre(HasSubstr("may not hold them all")));
}

TEST_F(CtDatasetTest, FilesThatLieAsTheyShouldAreAligned) {
  files_.sides = {32};
  files_.write(folder_);
  EXPECT_THAT([&] { open({.side = 32, .xray_size = 32})->alignment(0); },
              ThrowsMessage<base::ConfigError>(HasSubstr("nothing that could be misplaced")));
  files_.write_xrays(folder_, "train", 3, 32);
  for (const auto& view : open({.side = 32, .full_scale = 1})->alignment(1)) {
    EXPECT_FALSE(view.is_misplaced());
    EXPECT_LT(view.given.error, 0.06);
  }
  // What files cannot show of thick patients, as the third one, is no error.
  const volume::ViewRays rays({.fov_mm = 400}, 0, {32, 32});
  const auto thick = volume::exact_view(files_.phantom("train", 2, 400), rays, 400);
  ASSERT_GT(std::ranges::max(thick), 1.1);
  EXPECT_LT(open({.side = 32, .full_scale = 1})->alignment(2)[0].given.error, 0.06);
  files_.write_xrays(folder_, "train", 3, 32, {90, 0});
  const auto swapped = open({.side = 32, .full_scale = 1})->alignment(1);
  EXPECT_EQ(swapped[0].best.view, 1u);
  EXPECT_EQ(swapped[1].best.view, 0u);
}

}  // namespace
}  // namespace paceline::data
