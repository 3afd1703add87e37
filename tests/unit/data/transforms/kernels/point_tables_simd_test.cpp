#include "paceline/data/transforms/kernels/point_tables.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

class PointTablesSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

ByteTable random_table(std::mt19937& random) {
  ByteTable table;
  for (std::uint8_t& byte : table) byte = static_cast<std::uint8_t>(random());
  return table;
}

void expect_equal_look_ups(const PixelView& image, const PointTables& tables) {
  const auto fast = [&](const PixelView& source, std::uint8_t* target, auto stride) {
    apply_tables(source, tables, target, stride);
  };
  const auto plain = [&](const PixelView& source, std::uint8_t* target, auto stride) {
    apply_tables_scalar(source, tables, target, stride);
  };
  ASSERT_EQ(result_of(image, fast), result_of(image, plain)) << image.size.width << " columns";
}

TEST_P(PointTablesSimd, EqualThePlainCodeForAnyWidth) {
  std::mt19937 random(11);
  for (int width = 1; width < 300; width += 1 + width / 30) {
    const NoiseImage noise({4, width + 1}, static_cast<unsigned>(width));
    const PixelView inner = noise.view.part({0, 1, 4, width});
    const ByteTable table = random_table(random);
    expect_equal_look_ups(inner, {table, table, table});
    expect_equal_look_ups(inner, {table, random_table(random), random_table(random)});
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PointTablesSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
