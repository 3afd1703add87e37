#include "paceline/dataset_tools/synth.h"

#include "paceline/base/error.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/pipeline.h"
#include "paceline/dataset_tools/synth_digit.h"
#include "support/power_loss_file_system.h"
#include "support/temp_folder.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <jpeglib.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SynthOptions small_set(const fs::path& path) {
  SynthOptions options;
  options.path = path.string();
  options.classes = 3;
  options.train_per_class = 4;
  options.val_per_class = 2;
  options.min_size = 24;
  options.max_size = 40;
  return options;
}

std::map<std::string, std::string> files_of(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    files[fs::relative(entry.path(), root)] = base::read_file(entry.path());
  }
  return files;
}

TEST(Synth, WritesAnImageFolderThatOpensAndDecodes) {
  const TempFolder folder;
  const SynthOptions options = small_set(folder.path() / "set");
  std::int64_t calls = 0;
  EXPECT_TRUE(synthesize_image_folder(options, 2, [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(done, ++calls);
    EXPECT_EQ(total, 18);
  }));
  EXPECT_EQ(calls, 18);
  const auto train = data::open_image_folder(options.path, "train", "train");
  EXPECT_EQ(train->size(), 12);
  EXPECT_EQ(train->num_classes(), 3);
  EXPECT_EQ(data::open_image_folder(options.path, "val", "train")->size(), 6);
  const data::TransformPipeline pipeline({data::ResizeConfig{16}, data::CenterCropConfig{16}});
  data::TransformScratch scratch;
  data::StoredSample sample;
  std::vector<float> pixels(3 * 16 * 16);
  for (std::int64_t i = 0; i < train->size(); ++i) {
    train->get(i, sample);
    pipeline.run(sample, {}, scratch, {pixels.data(), data::PixelLayout::kPlanar});
  }
}

TEST(Synth, FilesAreAFunctionOfTheOptions) {
  const TempFolder folder;
  SynthOptions options = small_set(folder.path() / "a");
  synthesize_image_folder(options, 1);
  const auto first = files_of(options.path);
  options.path = (folder.path() / "b").string();
  synthesize_image_folder(options, 3);
  EXPECT_EQ(first, files_of(options.path));
  options.path = (folder.path() / "c").string();
  options.seed = 2;
  synthesize_image_folder(options, 1);
  EXPECT_NE(first, files_of(options.path));
}

TEST(Synth, SizesAndAspectRatiosVaryWithinTheLimits) {
  const SynthOptions options = small_set("unused");
  std::set<std::pair<int, int>> sizes;
  for (std::int64_t i = 0; i < 20; ++i) {
    const data::Image image = synthesize_image(options, 1, i);
    EXPECT_EQ(image.pixels.size(), static_cast<std::size_t>(image.width * image.height * 3));
    EXPECT_GE(std::min(image.width, image.height), 24);
    EXPECT_LE(std::max(image.width, image.height), 40);
    sizes.insert({image.width, image.height});
  }
  EXPECT_GE(sizes.size(), 10u);
}

/// What decoders have to do for some files.
struct JpegWork {
  double bytes = 0;
  double pixels = 0;
  double blocks = 0;
  double coefficients = 0;  ///< that are not zero
};

void count_blocks(jpeg_decompress_struct& decoder, JpegWork& work) {
  jvirt_barray_ptr* const components = jpeg_read_coefficients(&decoder);
  for (int c = 0; c < decoder.num_components; ++c) {
    const jpeg_component_info& info = decoder.comp_info[c];
    for (JDIMENSION y = 0; y < info.height_in_blocks; ++y) {
      JBLOCKARRAY rows = decoder.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&decoder),
                                                         components[c], y, 1, FALSE);
      for (JDIMENSION x = 0; x < info.width_in_blocks; ++x, ++work.blocks)
        work.coefficients += 64.0 - static_cast<double>(std::count(rows[0][x], rows[0][x] + 64, 0));
    }
  }
}

void add_work(const std::string& file, JpegWork& work) {
  jpeg_decompress_struct decoder{};
  jpeg_error_mgr errors{};
  decoder.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&decoder, TRUE);
  work.bytes += static_cast<double>(file.size());
  work.pixels += static_cast<double>(decoder.image_width) * decoder.image_height;
  count_blocks(decoder, work);
  jpeg_destroy_decompress(&decoder);
}

TEST(Synth, LikeImagenetHasItsBytesAndCoefficients) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "takes a minute under ThreadSanitizer, and shares nothing between threads";
#endif
  const TempFolder folder;
  SynthOptions options = small_set(folder.path() / "set");
  options.kind = SynthKind::kImagenet;
  options.classes = 10;
  options.train_per_class = 29;
  options.val_per_class = 1;
  synthesize_image_folder(options);
  JpegWork work;
  for (const auto& [name, file] : files_of(folder.path())) {
    if (name.ends_with(".jpg")) add_work(file, work);
  }
  EXPECT_NEAR(8 * work.bytes / work.pixels, 4.35, 0.1);
  EXPECT_NEAR(work.coefficients / work.blocks, 17.5, 0.5);
  EXPECT_NEAR(work.bytes / 300, 110e3, 5e3);
}

TEST(Synth, DigitsAreAFolderOfTenClasses) {
  const TempFolder folder;
  SynthOptions options = small_set(folder.path() / "set");
  options.kind = SynthKind::kDigits;
  options.classes = kNumDigits;
  synthesize_image_folder(options);
  const auto train = data::open_image_folder(options.path, "train", "train");
  EXPECT_THAT(train->class_names(), ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
  EXPECT_EQ(train->size(), 40);
  EXPECT_EQ(data::open_image_folder(options.path, "val", "train")->size(), 20);
}

TEST(Synth, EveryClassHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i < kMaxSynthClasses; ++i) names.insert(synth_class_name(SynthKind::kShapes, i));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kMaxSynthClasses));
  EXPECT_EQ(synth_class_name(SynthKind::kDigits, 7), "7");
}

TEST(Synth, LeavesItsOwnCompleteSetAlone) {
  const TempFolder folder;
  const SynthOptions options = small_set(folder.path() / "set");
  EXPECT_TRUE(synthesize_image_folder(options));
  EXPECT_FALSE(synthesize_image_folder(options));
}

std::string refusal(const SynthOptions& options) {
  try {
    synthesize_image_folder(options);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no ConfigError";
}

TEST(Synth, RefusesFoldersThatHoldAnythingElse) {
  const TempFolder folder;
  folder.write("set/holiday.jpg", "x");
  SynthOptions options = small_set(folder.path() / "set");
  EXPECT_THAT(refusal(options), HasSubstr("not an empty folder"));
  EXPECT_EQ(files_of(folder.path()).size(), 1u);
  options.path = (folder.path() / "other").string();
  synthesize_image_folder(options);
  options.seed = 9;
  EXPECT_THAT(refusal(options), HasSubstr("seed=9"));
}

TEST(Synth, TellsKindsApart) {
  const TempFolder folder;
  SynthOptions options = small_set(folder.path() / "set");
  options.classes = options.train_per_class = options.val_per_class = 1;
  EXPECT_TRUE(synthesize_image_folder(options));
  options.kind = SynthKind::kImagenet;
  EXPECT_THAT(refusal(options), HasSubstr("--like imagenet"));
  options.kind = SynthKind::kDigits;
  EXPECT_THAT(refusal(options), HasSubstr("--like digits, pictures version 2"));
}

TEST(Synth, WritesIntoAnEmptyFolder) {
  const TempFolder folder;
  fs::create_directory(folder.path() / "set");
  EXPECT_TRUE(synthesize_image_folder(small_set(folder.path() / "set/")));
}

TEST(Synth, LeavesNothingWhenItCannotWrite) {
  const TempFolder folder;
  folder.write("file", "x");
  EXPECT_THROW(synthesize_image_folder(small_set(folder.path() / "file/set")), base::DataError);
  EXPECT_EQ(files_of(folder.path()).size(), 1u);
}

TEST(Synth, RefusesOptionsThatMakeNoSense) {
  SynthOptions options = small_set("");
  EXPECT_THAT(refusal(options), HasSubstr("path"));
  options = small_set("x");
  options.classes = 49;
  EXPECT_THAT(refusal(options), HasSubstr("1 to 48"));
  options.kind = SynthKind::kDigits;
  options.classes = 11;
  EXPECT_THAT(refusal(options), HasSubstr("1 to 10"));
  options = small_set("x");
  options.min_size = 50;
  EXPECT_THAT(refusal(options), HasSubstr("min_size is 50"));
  options = small_set("x");
  options.max_size = kMaxSynthSize + 1;
  EXPECT_THAT(refusal(options), HasSubstr("max_size 8193"));
  options = small_set("x");
  options.val_per_class = kMaxSynthImagesPerClass + 1;
  EXPECT_THAT(refusal(options), HasSubstr("val_per_class"));
}

TEST(Synth, IsWholeOrNotThereAfterAPowerLoss) {
  test::expect_durable({.run = [](test::PowerLossFileSystem& files, const fs::path& root) {
    SynthOptions options = small_set(root / "sets/set");
    options.classes = options.train_per_class = options.val_per_class = 1;
    const auto holds = [&](bool must_be_there) {
      return [must_be_there, set = root / "sets/set"](const fs::path& disk) -> std::string {
        if (!fs::exists(disk / "sets/set")) return must_be_there ? "it is lost" : "";
        return files_of(disk / "sets/set") == files_of(set) ? "" : "it is damaged";
      };
    };
    files.expect(holds(false));
    synthesize_image_folder(options, 1, {}, {&files, [](auto*) {}});
    files.expect(holds(true));
  }});
}

}  // namespace
}  // namespace paceline::dataset_tools
