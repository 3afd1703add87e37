#include "paceline/base/file.h"
#include "paceline/base/json.h"
#include "paceline/data/ct/ct_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::data {
namespace {

TEST(DicomXrayGolden, AppliesWindowsAsPydicomDoes) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer lets no forked child start threads, as JPEG 2000's decoder does";
#endif
  const std::filesystem::path folder = std::filesystem::path(PACELINE_GOLDEN_DIR) / "ct";
  const auto cases = base::parse_json(base::read_file(folder / "dicom_xray.json"));
  ASSERT_EQ(cases.size(), 4);
  for (const auto& expected : cases) {
    const auto file = expected["file"].get<std::string>();
    SCOPED_TRACE(file);
    const XrayPicture picture = load_ct_plugin().read_dicom_xray(folder / "dicom" / file, file);
    EXPECT_EQ(picture.rows, expected["rows"].get<std::int64_t>());
    EXPECT_EQ(picture.columns, expected["columns"].get<std::int64_t>());
    EXPECT_THAT(picture.values, ::testing::Pointwise(::testing::FloatNear(1e-6F),
                                                     expected["values"].get<std::vector<float>>()));
  }
}

}  // namespace
}  // namespace paceline::data
