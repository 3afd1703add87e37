#include "paceline/dataset_tools/synth_phantom.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/png_decoder.h"
#include "paceline/data/ct/ct_plugin.h"
#include "paceline/volume/phantom.h"
#include "paceline/volume/projector.h"
#include "support/data/test_images.h"
#include "support/interrupted_file_system.h"
#include "support/temp_folder.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double kFullScale = 3;

class SynthPhantom : public ::testing::Test {
 protected:
  PhantomSetOptions options(const std::string& name, int patients = 2) const {
    return {.path = (folder_.path() / name).string(),
            .patients = patients,
            .size = 16,
            .xray_size = 24,
            .seed = 3};
  }
  void make(const PhantomSetOptions& options) {
    EXPECT_TRUE(synthesize_phantoms(options, 1, {}, files_));
  }
  std::map<std::string, std::string> content(const std::string& name) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / name)) {
      if (entry.is_regular_file())
        files[fs::relative(entry.path(), folder_.path() / name).string()] =
            base::read_file(entry.path());
    }
    return files;
  }
  data::CtVolume volume(const std::string& name) const {
    return data::load_ct_plugin().read_nifti(folder_.path() / name, name);
  }
  std::vector<std::uint16_t> xray(const std::string& name) const {
    return data::decode_gray_png(data::read_bytes(folder_.path() / name)).values;
  }

  const test::TempFolder folder_;
  const std::shared_ptr<base::FileSystem> files_ = std::make_shared<test::UnsyncedFileSystem>();
};

TEST_F(SynthPhantom, HasTheGuidesLayout) {
  make(options("set"));
  std::vector<std::string> names;
  for (const auto& [name, bytes] : content("set")) names.push_back(name);
  EXPECT_THAT(
      names,
      testing::UnorderedElementsAre(
          "paceline-synth.txt", "phantom_000000/phantom_000000.nii.gz",
          "phantom_000000/phantom_000000_organs.nii.gz", "phantom_000000/phantom_000000_pa_drr.png",
          "phantom_000000/phantom_000000_lat_drr.png", "phantom_000001/phantom_000001.nii.gz",
          "phantom_000001/phantom_000001_organs.nii.gz", "phantom_000001/phantom_000001_pa_drr.png",
          "phantom_000001/phantom_000001_lat_drr.png"));
}

TEST_F(SynthPhantom, VolumesAreThePhantoms) {
  make(options("set"));
  const volume::Phantom phantom = volume::draw_phantom(3, 1, 400);
  const volume::CubeGrid grid{16, 400};
  const data::CtVolume scan = volume("set/phantom_000001/phantom_000001.nii.gz");
  EXPECT_EQ(scan.sizes, (std::array<std::int64_t, 3>{16, 16, 16}));
  EXPECT_EQ(scan.affine,
            (volume::Affine{{{25, 0, 0, -187.5}, {0, 25, 0, -187.5}, {0, 0, 25, -187.5}}}));
  const std::vector<float> exact = volume::voxels_of(phantom, grid);
  ASSERT_EQ(scan.values.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(scan.values[i], exact[i], 0.5);
  const data::CtVolume organs = volume("set/phantom_000001/phantom_000001_organs.nii.gz");
  EXPECT_EQ(organs.affine, scan.affine);
  const std::vector<std::uint8_t> labels = volume::labels_of(phantom, grid);
  EXPECT_TRUE(std::ranges::equal(organs.values, labels));
}

TEST_F(SynthPhantom, XraysAreIntegralsByTheProjectorAskedFor) {
  const volume::Phantom phantom = volume::draw_phantom(3, 0, 400);
  const volume::CubeGrid grid{16, 400};
  std::vector<float> attenuation;
  for (const float hu : volume::voxels_of(phantom, grid))
    attenuation.push_back(static_cast<float>(volume::attenuation_of_hu(std::round(hu))));
  std::vector<std::vector<std::uint16_t>> all;
  for (const PhantomXrays xrays :
       {PhantomXrays::kExact, PhantomXrays::kTrilinear, PhantomXrays::kSiddon}) {
    const std::string name = std::to_string(static_cast<int>(xrays));
    PhantomSetOptions set = options(name, 1);
    set.xrays = xrays;
    make(set);
    for (const auto& [view, angle] : {std::pair{"_pa_drr.png", 0.0}, {"_lat_drr.png", 90.0}}) {
      const volume::ViewRays rays({.fov_mm = 400}, angle, {24, 24});
      std::vector<float> expected = volume::exact_view(phantom, rays, 400);
      if (xrays != PhantomXrays::kExact)
        volume::project<float>(attenuation, grid, rays,
                               xrays == PhantomXrays::kSiddon ? volume::RayMethod::kSiddon
                                                              : volume::RayMethod::kTrilinear,
                               0, 24, expected);
      all.push_back(xray(name + "/phantom_000000/phantom_000000" + view));
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(all.back()[i], expected[i] / kFullScale * 65535, 0.51) << name << view << i;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]);
}

TEST_F(SynthPhantom, BrighterThanFullScaleIsWhite) {
  PhantomSetOptions set = options("set", 1);
  make(set);
  set.path = (folder_.path() / "white").string();
  set.full_scale = 0.5;
  make(set);
  const auto plain = xray("set/phantom_000000/phantom_000000_pa_drr.png");
  const auto white = xray("white/phantom_000000/phantom_000000_pa_drr.png");
  EXPECT_EQ(std::ranges::max(white), 65535);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_NEAR(white[i], std::min(65535, plain[i] * 6), 6);
}

TEST_F(SynthPhantom, NothingIsWhiterThanTheDefaultFullScale) {
  double brightest = 0;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const volume::Phantom phantom = volume::draw_phantom(1, index, 400);
    for (const double angle : {0.0, 90.0}) {
      const volume::ViewRays rays({.fov_mm = 400}, angle, {16, 16});
      brightest =
          std::max<double>(brightest, std::ranges::max(volume::exact_view(phantom, rays, 400)));
    }
  }
  EXPECT_LT(brightest, PhantomSetOptions{}.full_scale);
  EXPECT_GT(brightest, PhantomSetOptions{}.full_scale / 2);
}

TEST_F(SynthPhantom, APatientIsAFunctionOfSeedAndNumber) {
  make(options("two", 2));
  PhantomSetOptions three = options("three", 3);
  std::int64_t calls = 0;
  synthesize_phantoms(three, 3, [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(done, ++calls);
    EXPECT_EQ(total, 3);
  });
  EXPECT_EQ(calls, 3);
  const auto more = content("three");
  for (const auto& [name, bytes] : content("two")) {
    if (name != "paceline-synth.txt") {
      EXPECT_EQ(more.at(name), bytes) << name;
    }
  }
  PhantomSetOptions other = options("other", 1);
  other.seed = 4;
  make(other);
  for (const auto& [name, bytes] : content("other")) EXPECT_NE(more.at(name), bytes) << name;
}

TEST_F(SynthPhantom, IsWholeOrNotThereAfterDeathAtAnyMoment) {
  const PhantomSetOptions set = options("set", 1);
  const auto counting = std::make_shared<test::InterruptedFileSystem>();
  synthesize_phantoms(set, 1, {}, counting);
  const auto whole = content("set");
  for (int moment = 0; moment < counting->num_operations(); ++moment) {
    fs::remove_all(set.path);
    EXPECT_ANY_THROW(synthesize_phantoms(set, 1, {},
                                         std::make_shared<test::InterruptedFileSystem>(
                                             moment, test::InterruptedFileSystem::Fault::kDeath)))
        << moment;
    const bool is_there = fs::exists(set.path);
    EXPECT_EQ(synthesize_phantoms(set, 1, {}, files_), !is_there) << moment;
    ASSERT_EQ(content("set"), whole) << moment;
  }
}

TEST_F(SynthPhantom, RefusesOptionsThatMakeNoSense) {
  const auto expect_refusal = [&](auto change, const std::string& text) {
    PhantomSetOptions set = options("set");
    change(set);
    EXPECT_THAT([&] { synthesize_phantoms(set); },
                ThrowsMessage<base::ConfigError>(HasSubstr(text)));
  };
  expect_refusal([](auto& set) { set.path.clear(); }, "no path");
  expect_refusal([](auto& set) { set.patients = 0; }, "patients is 0, expected 1 to 1000000");
  expect_refusal([](auto& set) { set.size = 513; }, "size is 513, expected 8 to 512");
  expect_refusal([](auto& set) { set.xray_size = 7; }, "xray_size is 7, expected 8 to 4096");
  expect_refusal([](auto& set) { set.fov_mm = 0; }, "fov_mm is 0");
  expect_refusal([](auto& set) { set.fov_mm = std::nan(""); }, "fov_mm is nan");
  expect_refusal([](auto& set) { set.full_scale = -1; }, "full_scale is -1");
  EXPECT_FALSE(fs::exists(options("set").path));
}

}  // namespace
}  // namespace paceline::dataset_tools
