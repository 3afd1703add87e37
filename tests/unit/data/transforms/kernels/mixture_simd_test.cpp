#include "paceline/data/transforms/kernels/mixture.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

class MixtureSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

TEST_P(MixtureSimd, EqualsThePlainCode) {
  const NoiseImage noise({1, 60}, 5);
  const auto cut = [](auto cut_off, const std::vector<float>& sums, std::size_t count) {
    std::vector<std::uint8_t> bytes(count + PixelBuffer::kPadding);
    cut_off(sums.data(), count, bytes.data());
    bytes.resize(count);
    return bytes;
  };
  for (std::size_t count = 1; count < 180; ++count) {
    std::vector<float> fast(count + kMixtureSlack, -3.3f);
    std::vector<float> plain = fast;
    for (const float share : {0.1f, 0.7313f, 0.5f}) {
      add_bytes(noise.view.row(0), count, share, fast.data());
      add_bytes_scalar(noise.view.row(0), count, share, plain.data());
    }
    fast.resize(count);
    plain.resize(count);
    ASSERT_EQ(fast, plain) << count;
    fast.resize(count + kMixtureSlack);
    ASSERT_EQ(cut(cut_off_bytes, fast, count), cut(cut_off_bytes_scalar, plain, count)) << count;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, MixtureSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
