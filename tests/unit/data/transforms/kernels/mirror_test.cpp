#include "paceline/data/transforms/kernels/mirror.h"

#include "support/data/guarded_bytes.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::GuardedBytes;

std::vector<std::uint8_t> mirrored(std::span<const std::uint8_t> row) {
  std::vector<std::uint8_t> result;
  for (std::size_t end = row.size(); end > 0; end -= 3)
    result.insert(result.end(), row.begin() + static_cast<std::ptrdiff_t>(end) - 3,
                  row.begin() + static_cast<std::ptrdiff_t>(end));
  return result;
}

TEST(CopyMirrored, TouchesNothingBesideItsRows) {
  for (std::size_t count = 1; count < 70; ++count) {
    for (const auto at : {GuardedBytes::At::kFront, GuardedBytes::At::kBack}) {
      const GuardedBytes source(3 * count, at);
      const GuardedBytes target(3 * count, at);
      for (std::size_t i = 0; i < 3 * count; ++i)
        source.bytes()[i] = static_cast<std::uint8_t>(i * 7 + count);
      copy_mirrored(source.bytes().data(), static_cast<std::ptrdiff_t>(count),
                    target.bytes().data());
      ASSERT_TRUE(std::ranges::equal(target.bytes(), mirrored(source.bytes()))) << count;
    }
  }
}

}  // namespace
}  // namespace paceline::data
