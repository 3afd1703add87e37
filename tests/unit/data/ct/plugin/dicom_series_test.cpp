// The plug-in hides its functions, so series are read through it.
#include "paceline/base/error.h"
#include "paceline/data/ct/ct_plugin.h"
#include "support/data/dicom_bytes.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using test::ct_slice_bytes;
using test::DicomBytes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Slices 3 mm apart, in another order than along their normal.
std::vector<DicomBytes> sound_series() {
  return {ct_slice_bytes(7, 20), ct_slice_bytes(1, 0), ct_slice_bytes(4, 10),
          ct_slice_bytes(10, 30)};
}

CtVolume read_series(const std::vector<DicomBytes>& slices,
                     SeriesChoice choice = SeriesChoice::kOnly) {
  const test::TempFolder folder;
  std::vector<std::filesystem::path> files;
  for (const DicomBytes& slice : slices)
    files.push_back(folder.write("Doe-" + std::to_string(files.size()) + ".dcm", slice.bytes()));
  return load_ct_plugin().read_dicom_series(files, choice, "scan");
}

std::string series_problem(const std::vector<DicomBytes>& slices,
                           SeriesChoice choice = SeriesChoice::kOnly) {
  try {
    read_series(slices, choice);
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Of one line, begun by the name, with nothing of who the patient is.
MATCHER_P2(SaysOfFile, file, what, "") {
  const std::string begin =
      file == 0 ? std::string("scan ") : "scan, file " + std::to_string(file) + " of ";
  auto is_told = AllOf(HasSubstr(what), Not(HasSubstr("Doe")), Not(HasSubstr("4711")),
                       Not(HasSubstr("1.2.826")), Not(HasSubstr("1987")), Not(HasSubstr("\n")));
  return ::testing::ExplainMatchResult(AllOf(StartsWith(file == 0 ? "scan: " : begin), is_told),
                                       arg, result_listener);
}

/// What is said of the third file if it alone is otherwise.
std::string third_problem(const std::function<void(DicomBytes& slice)>& change) {
  std::vector<DicomBytes> slices = sound_series();
  change(slices[2]);
  return series_problem(slices);
}
std::string all_problem(const std::function<void(DicomBytes& slice)>& change) {
  std::vector<DicomBytes> slices = sound_series();
  for (DicomBytes& slice : slices) change(slice);
  return series_problem(slices);
}

TEST(DicomSeries, OrdersSlicesAlongTheirNormal) {
  const CtVolume volume = read_series(sound_series());
  EXPECT_EQ(volume.sizes, (std::array<std::int64_t, 3>{3, 2, 4}));
  // To the left and back in the file, to the right and front here.
  EXPECT_EQ(volume.affine, (volume::Affine{{{-0.5, 0, 0, 10}, {0, -2, 0, -20}, {0, 0, 3, 1}}}));
  ASSERT_EQ(volume.values.size(), 24);
  for (int slice = 0; slice < 4; ++slice)
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(volume.values[static_cast<std::size_t>(6 * slice + i)],
                2 * (10 * slice + i) - 1000);
}

TEST(DicomSeries, FollowsTheNormalWhereverItPoints) {
  std::vector<DicomBytes> slices;
  for (const double x : {5, 3, 1}) {  // sagittal: rows go back, columns down
    slices.push_back(ct_slice_bytes(0, static_cast<int>(x)));
    slices.back()
        .text(0x00200032, "DS", std::to_string(x) + "\\-20\\30")
        .text(0x00200037, "DS", "0\\1\\0\\0\\0\\-1");
  }
  const CtVolume volume = read_series(slices);
  EXPECT_EQ(volume.affine, (volume::Affine{{{0, 0, 2, -5}, {-0.5, 0, 0, 20}, {0, -2, 0, 30}}}));
  EXPECT_EQ(volume.values[0], 2 * 5 - 1000);
}

TEST(DicomSeries, ScalesEachSliceByItsOwnSlope) {
  std::vector<DicomBytes> slices = sound_series();
  slices[1].text(0x00281053, "DS", "0.5 ").text(0x00281052, "DS", "+1.5e1");
  const CtVolume volume = read_series(slices);
  EXPECT_EQ(volume.values[1], 15.5F);
  EXPECT_EQ(volume.values[7], 2 * 11 - 1000);
}

TEST(DicomSeries, ReadsNumbersOfFewerBitsWithAndWithoutSign) {
  const auto first_value = [](unsigned stored, unsigned bits, unsigned high, unsigned is_signed) {
    std::vector<DicomBytes> slices{ct_slice_bytes(0), ct_slice_bytes(1)};
    for (DicomBytes& slice : slices) {
      slice.number(0x00280101, bits).number(0x00280102, high).number(0x00280103, is_signed);
      slice.text(0x00281053, "DS", "1").text(0x00281052, "DS", "0");
      slice.values({static_cast<int>(stored), 0, 0, 0, 0, 0});
    }
    return read_series(slices).values[0];
  };
  EXPECT_EQ(first_value(0xF800, 12, 11, 1), -2048);  // what lies above is no part of it
  EXPECT_EQ(first_value(0x07FF, 12, 11, 1), 2047);
  EXPECT_EQ(first_value(0xFFFF, 12, 11, 0), 4095);
  EXPECT_EQ(first_value(0x8000, 12, 15, 1), -2048);
  EXPECT_EQ(first_value(0xFFFF, 16, 15, 0), 65535);
  EXPECT_EQ(first_value(0xFFFF, 16, 15, 1), -1);
}

TEST(DicomSeries, ReadsPicturesOfBytes) {
  std::vector<DicomBytes> slices{ct_slice_bytes(0), ct_slice_bytes(1)};
  for (DicomBytes& slice : slices) {
    slice.number(0x00280100, 8).number(0x00280101, 8).number(0x00280102, 7).number(0x00280103, 0);
    slice.pixels = "\x01\x02\x03\x04\x05\xFF";
  }
  EXPECT_EQ(read_series(slices).values[5], 2 * 255 - 1000);
}

TEST(DicomSeries, ReadsImplicitElementsAndRunLengths) {
  const std::vector<float> expected = read_series(sound_series()).values;
  std::vector<DicomBytes> slices = sound_series();
  for (DicomBytes& slice : slices) slice.syntax = "1.2.840.10008.1.2";
  EXPECT_EQ(read_series(slices).values, expected);
  slices = sound_series();
  for (DicomBytes& slice : slices) {
    slice.syntax = "1.2.840.10008.1.2.5";
    slice.fragments = {test::rle_bytes(*slice.pixels)};
  }
  EXPECT_EQ(read_series(slices).values, expected);
}

TEST(DicomSeries, PassesOverSequences) {
  std::vector<DicomBytes> slices = sound_series();
  const std::string rows("\x28\x00\x10\x00US\x02\x00\x63\x00", 10);  // of another picture
  const std::string open("\xFE\xFF\x00\xE0\xFF\xFF\xFF\xFF", 8);
  const std::string end("\xFE\xFF\x0D\xE0\x00\x00\x00\x00", 8);
  const std::string all_end("\xFE\xFF\xDD\xE0\x00\x00\x00\x00", 8);
  const std::string inner =
      std::string("\x08\x00\x15\x11SQ\x00\x00\xFF\xFF\xFF\xFF", 12) + open + rows + end + all_end;
  for (DicomBytes& slice : slices) {
    slice.text(0x00081140, "SQ", open + rows + inner + end + all_end);
    slice.open_sequences = {0x00081140};
  }
  EXPECT_EQ(read_series(slices).sizes[1], 2);
}

TEST(DicomSeries, TakesOneOfTwoSeriesOnlyIfToldWhich) {
  std::vector<DicomBytes> slices = sound_series();
  for (const double z : {0, 1}) {
    slices.push_back(ct_slice_bytes(z, 100));
    slices.back().text(0x0020000E, "UI", "1.2.826.99");
    slices.back().elements.erase(0x00200032);  // a table of doses, perhaps
  }
  EXPECT_THAT(series_problem(slices),
              SaysOfFile(0,
                         "has 2 CT series, of 4, 2 slices, expected one; leave one in its "
                         "folder, or take the largest of each patient by --series largest"));
  EXPECT_EQ(read_series(slices, SeriesChoice::kLargest).sizes[2], 4);
  slices.resize(6);
  slices.erase(slices.begin(), slices.begin() + 2);
  EXPECT_THAT(series_problem(slices, SeriesChoice::kLargest),
              SaysOfFile(0, "of 2, 2 slices, and none is the largest"));
}

TEST(DicomSeries, PassesOverFilesOfOtherModalities) {
  std::vector<DicomBytes> slices = sound_series();
  slices.push_back(ct_slice_bytes(0).text(0x00080060, "CS", "SR"));
  slices.back().pixels.reset();
  const DicomBytes directory =
      DicomBytes{.pixels = std::nullopt}.text(0x00020002, "UI", "1.2.840.10008.1.3.10");
  slices.push_back(directory);
  EXPECT_EQ(read_series(slices).sizes[2], 4);
  EXPECT_THAT(all_problem([](DicomBytes& slice) { slice.text(0x00080060, "CS", "MR"); }),
              SaysOfFile(0, "is of modality MR, expected CT"));
  EXPECT_THAT(all_problem([](DicomBytes& slice) { slice.text(0x00080060, "CS", "Doe^John"); }),
              SaysOfFile(0, "is of modality of an unknown kind, expected CT"));
  EXPECT_THAT(series_problem({directory}), SaysOfFile(0, "has no DICOM slices"));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.elements.erase(0x00080060); }),
              SaysOfFile(3, "does not say its modality or series"));
}

TEST(DicomSeries, RefusesMissingDoubleAndUnevenSlices) {
  std::vector<DicomBytes> slices = sound_series();
  slices[3] = ct_slice_bytes(16);
  EXPECT_THAT(
      series_problem(slices),
      SaysOfFile(4, "lies 9 mm from scan, file 1 of 4, expected 3: 2 missing between them"));
  slices[3] = ct_slice_bytes(7);
  EXPECT_THAT(series_problem(slices), SaysOfFile(4, "lies where scan, file 1 of 4 lies"));
  slices[3] = ct_slice_bytes(11);
  EXPECT_THAT(series_problem(slices), SaysOfFile(4,
                                                 "lies 4 mm from scan, file 1 of 4, expected 3 "
                                                 "as between the others"));
  slices = {slices[0]};
  EXPECT_THAT(series_problem(slices), SaysOfFile(1, "is the only slice of its series"));
  slices.clear();
  for (int i = 0; i < 20; ++i) slices.push_back(ct_slice_bytes(i < 10 ? i : 9 + (i - 9) * 1.1));
  EXPECT_THAT(series_problem(slices), HasSubstr("from where slices with equal spacing lie"));
}

TEST(DicomSeries, TakesPositionsThatAreRounded) {
  std::vector<DicomBytes> slices;
  for (const char* z : {"0", "0.6", "1.3", "1.9", "2.5", "3.1"})
    slices.push_back(ct_slice_bytes(0).text(0x00200032, "DS", std::string("0\\0\\") + z));
  EXPECT_NEAR(read_series(slices).affine[2][2], 0.62, 1e-12);
}

TEST(DicomSeries, RefusesTiltAndShift) {
  std::vector<DicomBytes> slices;
  for (int i = 0; i < 4; ++i) {
    slices.push_back(ct_slice_bytes(0));
    slices.back().text(0x00200032, "DS",
                       "0\\" + std::to_string(0.3 * i) + "\\" + std::to_string(i));
  }
  EXPECT_THAT(series_problem(slices),
              SaysOfFile(1, "shifted against each other by 16.7 degrees (a tilted gantry)"));
  slices = sound_series();
  slices[0].text(0x00200032, "DS", "-9\\20\\7");
  EXPECT_THAT(series_problem(slices), SaysOfFile(1, "lies 1 mm beside the line"));
}

TEST(DicomSeries, RefusesSlicesOfDifferentKinds) {
  EXPECT_THAT(
      third_problem([](DicomBytes& slice) { slice.number(0x00280010, 3).number(0x00280011, 2); }),
      SaysOfFile(3, "has 2 x 3 pixels, expected 3 x 2 as the others"));
  EXPECT_THAT(
      third_problem([](DicomBytes& slice) { slice.text(0x00200037, "DS", "0\\1\\0\\0\\0\\-1"); }),
      SaysOfFile(3, "another image orientation"));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.text(0x00280030, "DS", "2\\0.51"); }),
              SaysOfFile(3, "pixel spacing 2 x 0.51 mm, expected 2 x 0.5"));
}

TEST(DicomSeries, RefusesSlicesWithoutAPlace) {
  for (const auto& [tag, what] : {std::pair{0x00200032U, "no image position"},
                                  {0x00200037U, "no image orientation"},
                                  {0x00280030U, "no pixel spacing"}})
    EXPECT_THAT(third_problem([&](DicomBytes& slice) { slice.elements.erase(tag); }),
                SaysOfFile(3, what));
  for (const auto& [tag, text, what] :
       {std::tuple{0x00200032U, "0\\0", "has 2 numbers as image position, expected 3"},
        {0x00200032U, "0\\0\\1e9", "an image position of 1000000000 mm"},
        {0x00200032U, "0\\0\\nan", "image position that is no finite number"},
        {0x00200037U, "1\\0\\0\\1\\0\\0", "no pair of directions at right angles"},
        {0x00200037U, "0\\0\\0\\0\\0\\0", "no pair of directions at right angles"},
        {0x00280030U, "0\\1", "the pixel spacing 0 x 1 mm"},
        {0x00280030U, "-1\\1", "the pixel spacing -1 x 1 mm"},
        {0x00280030U, "Doe\\1", "pixel spacing that is no finite number"}})
    EXPECT_THAT(third_problem([&](DicomBytes& slice) { slice.text(tag, "DS", text); }),
                SaysOfFile(3, what));
}

TEST(DicomSeries, RefusesValuesThatAreNoHounsfieldUnits) {
  EXPECT_THAT(third_problem([](DicomBytes& slice) {
                slice.elements.erase(0x00281052);
                slice.elements.erase(0x00281053);
              }),
              SaysOfFile(3, "has no rescale slope and intercept"));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.elements.erase(0x00281052); }),
              SaysOfFile(3, "only one of rescale slope and intercept"));
  for (const auto& [tag, text, what] : {std::tuple{0x00281053U, "nan", "no finite number"},
                                        {0x00281053U, "inf", "no finite number"},
                                        {0x00281053U, "0", "the rescale slope 0, expected"},
                                        {0x00281053U, "1e5", "the rescale slope 100000"},
                                        {0x00281052U, "-1e7", "the rescale intercept -10000000"},
                                        {0x00281054U, "Z_EFF", "values of type Z_EFF"}})
    EXPECT_THAT(third_problem([&](DicomBytes& slice) { slice.text(tag, "DS", text); }),
                SaysOfFile(3, what));
}

TEST(DicomSeries, KeepsHounsfieldUnitsOfMonochrome1) {
  std::vector<DicomBytes> slices = sound_series();
  for (DicomBytes& slice : slices) slice.text(0x00280004, "CS", "MONOCHROME1");
  EXPECT_EQ(read_series(slices).values, read_series(sound_series()).values);
}

TEST(DicomSeries, RefusesOtherPixels) {
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.pixels.reset(); }),
              SaysOfFile(3, "has no pixel data"));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.text(0x00280004, "CS", "RGB"); }),
              SaysOfFile(3, "1 samples and photometric interpretation RGB"));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.number(0x00280002, 3); }),
              SaysOfFile(3, "3 samples and photometric interpretation MONOCHROME2"));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.text(0x00280008, "IS", "7"); }),
              SaysOfFile(3, "holds 7 frames (enhanced multi-frame), expected one"));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.pixels->resize(10); }),
              SaysOfFile(3, "has 10 bytes of pixels, expected 12"));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.pixels->resize(16); }),
              SaysOfFile(3, "has 16 bytes of pixels, expected 12"));
  for (const auto& [tag, value, what] : {std::tuple{0x00280010U, 0U, "3 x 0 pixels"},
                                         {0x00280011U, 65535U, "65535 x 2 pixels"},
                                         {0x00280100U, 32U, "stores 16 bits in 32"},
                                         {0x00280101U, 17U, "stores 17 bits in 16"},
                                         {0x00280101U, 0U, "stores 0 bits in 16"},
                                         {0x00280102U, 14U, "the highest 14"},
                                         {0x00280102U, 16U, "the highest 16"},
                                         {0x00280103U, 2U, "representation 2"}})
    EXPECT_THAT(third_problem([&](DicomBytes& slice) { slice.number(tag, value); }),
                SaysOfFile(3, what));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.elements.erase(0x00280010); }),
              SaysOfFile(3, "has no number of rows"));
}

TEST(DicomSeries, RefusesOtherEncodings) {
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.magic = "DOCM"; }),
              SaysOfFile(3, "is not DICOM (no DICM at byte 128)"));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.syntax = ""; }),
              SaysOfFile(3, "no transfer syntax"));
  EXPECT_THAT(third_problem([](DicomBytes& slice) { slice.syntax = "1.2.840.10008.1.2.2"; }),
              SaysOfFile(3, "is encoded as 1.2.840.10008.1.2.2 (big endian or deflated)"));
  const auto encapsulate = [](const std::string& syntax, const std::string& fragment) {
    return third_problem([&](DicomBytes& slice) {
      slice.syntax = syntax;
      slice.fragments = {fragment};
    });
  };
  EXPECT_THAT(encapsulate("1.2.840.10008.1.2.4.102", "mpeg"),
              SaysOfFile(3, "is compressed by 1.2.840.10008.1.2.4.102, which is not read"));
  EXPECT_THAT(encapsulate("Doe", "mpeg"),
              SaysOfFile(3, "compressed by an unknown transfer syntax"));
  EXPECT_THAT(encapsulate("1.2.840.10008.1.2.4.70", "no jpeg, but text"),
              SaysOfFile(3, "begin otherwise than its transfer syntax says"));
  EXPECT_THAT(encapsulate("1.2.840.10008.1.2.1", "x"),
              SaysOfFile(3, "stored otherwise than its transfer syntax says"));
  EXPECT_THAT(encapsulate("1.2.840.10008.1.2.5", "no header"),
              SaysOfFile(3, "cannot be decoded: they are damaged"));
  const std::string other_size("\xFF\xD8\xFF\xC3\x00\x0B\x10\x00\x02\x00\x04\x01\x01\x11\x00", 15);
  EXPECT_THAT(encapsulate("1.2.840.10008.1.2.4.70", other_size),
              SaysOfFile(3, "compressed pixels of 4 x 2 x 1 and 16 bits, expected 3 x 2 x 1"));
  std::string right_size = other_size;
  right_size[10] = 3;
  EXPECT_THAT(encapsulate("1.2.840.10008.1.2.4.70", right_size),
              SaysOfFile(3, "compressed pixels that end early"));
  EXPECT_THAT(encapsulate("1.2.840.10008.1.2.4.70", right_size + "\xFF\xD9"),
              SaysOfFile(3, "cannot be decoded: they are damaged"));
}

}  // namespace
}  // namespace paceline::data
