#include "paceline/dataset_tools/field_facts.h"

#include <array>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using data::FieldSpec;
using data::FieldType;

const FieldSpec kVolume{"volume", FieldType::kInt16, {1, 3, 2, 2}};

std::array<std::int16_t, 12> volume_values() { return {0, 0, 0, 0, -10, 0, 10, 245, 0, 0, 0, 7}; }

TEST(FieldFacts, RangeLeavesOutWhatIsNotFinite) {
  const std::array values{1.0f, std::numeric_limits<float>::infinity(), -3.0f, 4.0f};
  const NumberRange range =
      range_of({"x", FieldType::kFloat32, {4}}, std::as_bytes(std::span(values)));
  EXPECT_EQ(describe(range), "-3 to 4, mean 0.666667, 1 not finite");
  EXPECT_EQ(describe(NumberRange{}), "no finite number");
}

TEST(FieldFacts, TheMiddleSliceIsDrawnFromItsSmallestToItsLargestNumber) {
  const auto values = volume_values();
  data::PixelBuffer buffer;
  const data::PixelView view = middle_slice(kVolume, std::as_bytes(std::span(values)), buffer);
  EXPECT_EQ(view.size, (data::ImageSize{2, 2}));
  const auto grey = [&](int y, int x) { return view.row(y)[3 * x]; };
  EXPECT_EQ(grey(0, 0), 0);
  EXPECT_EQ(grey(0, 1), 10);
  EXPECT_EQ(grey(1, 0), 20);
  EXPECT_EQ(grey(1, 1), 255);
  EXPECT_FALSE(has_slice({"dose", FieldType::kFloat32, {5}}));
  EXPECT_FALSE(has_slice({"none", FieldType::kFloat32, {5, 0}}));
}

/// Two bodies: the second one's numbers are twice the first one's.
class Bodies final : public data::Dataset {
 public:
  std::int64_t size() const override { return 2; }
  void get(std::int64_t index, data::StoredSample& sample) const override {
    auto values = volume_values();
    for (std::int16_t& value : values) value = static_cast<std::int16_t>(value * (index + 1));
    sample.bytes.resize(sizeof(values));
    std::memcpy(sample.bytes.data(), values.data(), sizeof(values));
  }
  std::vector<FieldSpec> stored_fields() const override { return {kVolume}; }
  std::string describe(std::int64_t) const override { return "a body"; }
  std::string fingerprint() const override { return ""; }
};

TEST(FieldFacts, RangesOfADataSet) {
  const auto of_all = examine_fields(Bodies(), 0, 2, {});
  EXPECT_EQ(of_all.size(), 1u);
  EXPECT_EQ(describe(of_all.front()), "-20 to 490, mean 31.5");
  EXPECT_EQ(examine_fields(Bodies(), 1, 1, {}).front().largest, 245);
}

}  // namespace
}  // namespace paceline::dataset_tools
