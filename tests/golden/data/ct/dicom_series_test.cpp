#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/json.h"
#include "paceline/data/ct/ct_plugin.h"
#include "support/data/mutations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::data {
namespace {

TEST(DicomSeriesGolden, ReadsSeriesAsSimpleItkDoes) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer lets no forked child start threads, as JPEG 2000's decoder does";
#endif
  const std::filesystem::path folder = std::filesystem::path(PACELINE_GOLDEN_DIR) / "ct";
  const auto cases = base::parse_json(base::read_file(folder / "dicom_series.json"));
  ASSERT_EQ(cases.size(), 12);
  for (const auto& expected : cases) {
    const auto series = expected["series"].get<std::string>();
    SCOPED_TRACE(series);
    std::vector<std::filesystem::path> files;
    for (const char* file : {"0.dcm", "1.dcm", "2.dcm"})
      files.push_back(folder / "dicom" / series / file);
    const CtVolume volume =
        load_ct_plugin().read_dicom_series(files, SeriesChoice::kOnly, "series");
    EXPECT_EQ(volume.sizes, (expected["sizes"].get<std::array<std::int64_t, 3>>()));
    const auto affine = expected["affine"].get<volume::Affine>();
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 4; ++column)
        EXPECT_NEAR(volume.affine[row][column], affine[row][column], 1e-5) << row << " " << column;
    EXPECT_EQ(volume.values, expected["values"].get<std::vector<float>>());
  }
}

/// The decoders of a library meet damaged pixels here, which end some of them.
TEST(DicomSeriesGolden, FuzzedCompressedPixelsGiveAVolumeOrAnError) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer lets no forked child start threads, as JPEG 2000's decoder does";
#endif
  const std::filesystem::path folder = std::filesystem::path(PACELINE_GOLDEN_DIR) / "ct" / "dicom";
  const MemoryFile file;
  int volumes = 0;
  const int rounds = repeat_fuzzing([&](std::mt19937& random) {
    constexpr std::array kSeries{"rle", "jpeg_lossless", "jpeg_extended", "jpeg_ls", "jpeg_2000"};
    const std::filesystem::path series = folder / kSeries[random() % kSeries.size()];
    const std::string whole = base::read_file(series / "0.dcm");
    const std::size_t begin = whole.find("\xE0\x7F\x10");
    std::string pixels = whole.substr(begin);
    mutate(pixels, random);
    const std::vector<std::filesystem::path> files{file.write(whole.substr(0, begin) + pixels),
                                                   series / "1.dcm", series / "2.dcm"};
    try {
      const CtVolume volume =
          load_ct_plugin().read_dicom_series(files, SeriesChoice::kOnly, "scan");
      ++volumes;
      EXPECT_EQ(std::ssize(volume.values), volume.sizes[0] * volume.sizes[1] * volume.sizes[2]);
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith("scan, file 1 of 3: "));
    }
  });
  EXPECT_GT(volumes, 0);
  EXPECT_LT(volumes, rounds);
}

}  // namespace
}  // namespace paceline::data
