#include "paceline/data/transforms/lazy_image.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/affine.h"
#include "paceline/data/transforms/kernels/image_statistics.h"
#include "paceline/data/transforms/kernels/sharpness.h"
#include "support/data/test_images.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

namespace paceline::data {
namespace {

/// The result as bytes.
std::vector<int> bytes_of(LazyImage& image) {
  const ImageSize size = image.size();
  std::vector<float> floats(static_cast<std::size_t>(3 * size.height * size.width));
  image.write(NormalizeTable(), {floats.data(), PixelLayout::kChannelsLast});
  std::vector<int> bytes;
  for (const float value : floats) bytes.push_back(static_cast<int>(value * 255.0f + 0.5f));
  return bytes;
}

/// An image of explicit bytes, changed step by step without any laziness: the oracle.
struct EagerImage {
  ImageSize size;
  std::vector<std::uint8_t> bytes;

  const std::uint8_t* at(int y, int x) const {
    return &bytes[static_cast<std::size_t>(3 * (y * size.width + x))];
  }

  void crop(const Box& box) {
    EagerImage result = {box.size(), {}};
    for (int y = box.top; y < box.bottom(); ++y) {
      for (int x = box.left; x < box.right(); ++x) {
        const bool inside = y >= 0 && y < size.height && x >= 0 && x < size.width;
        for (int channel = 0; channel < 3; ++channel) {
          result.bytes.push_back(inside ? at(y, x)[channel] : std::uint8_t{0});
        }
      }
    }
    *this = result;
  }
  void flip() {
    EagerImage result = {size, {}};
    for (int y = 0; y < size.height; ++y) {
      for (int x = size.width; x-- > 0;)
        result.bytes.insert(result.bytes.end(), at(y, x), at(y, x) + 3);
    }
    *this = result;
  }
  void resize(ImageSize target) {
    std::vector<std::uint8_t> padded = bytes;
    padded.resize(padded.size() + PixelBuffer::kPadding);
    Resizer resizer;
    PixelBuffer buffer;
    bytes = packed(resizer.resize({padded.data(), size, 3 * size.width}, target,
                                  Interpolation::kBilinear, buffer));
    size = target;
  }
  void flip_rows() {
    for (int upper = 0, lower = size.height - 1; upper < lower; ++upper, --lower) {
      const std::ptrdiff_t row_bytes = 3 * size.width;
      std::swap_ranges(&bytes[0] + upper * row_bytes, &bytes[0] + (upper + 1) * row_bytes,
                       &bytes[0] + lower * row_bytes);
    }
  }
  void invert() {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(255 - byte);
  }
  template <class Operation>
  void replace(Operation operation) {
    bytes = result_of(PaddedImage(bytes, size).view, operation);
  }
  void adjust_contrast(float factor) {
    const ByteTable table = blend_table(mean_luma(PaddedImage(bytes, size).view), factor);
    for (std::uint8_t& byte : bytes) byte = table[byte];
  }
};

void subtract_from(const PixelView& source, const PixelStep::Parameters& parameters,
                   std::uint8_t* target, std::ptrdiff_t stride) {
  for (int y = 0; y < source.size.height; ++y) {
    for (std::ptrdiff_t i = 0; i < 3 * source.size.width; ++i)
      target[y * stride + i] = static_cast<std::uint8_t>(parameters[0] - source.row(y)[i]);
  }
}

/// Applies one random step to both.
void take_random_step(std::mt19937& random, LazyImage& image, EagerImage& eager) {
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  switch (below(10)) {
    case 0: {
      const Box box = random_box(eager.size, random);
      image.apply(CropStep{box});
      eager.crop(box);
      break;
    }
    case 1: {
      const Box box = {below(20) - 10, below(20) - 10, 1 + below(50), 1 + below(50)};
      image.apply(CropStep{box});
      eager.crop(box);
      break;
    }
    case 2:
      image.apply(FlipStep{});
      eager.flip();
      break;
    case 3: {
      const ImageSize size = {1 + below(40), 1 + below(40)};
      image.apply(ResizeStep{size, Interpolation::kBilinear});
      eager.resize(size);
      break;
    }
    case 4:
      image.apply(VerticalFlipStep{});
      eager.flip_rows();
      break;
    case 5:
      image.apply(SharpnessStep{1.8f});
      eager.replace([](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
        sharpen(source, 1.8f, target, stride);
      });
      break;
    case 6: {
      const AffineMatrix matrix = rotation_matrix(below(360), eager.size);
      image.apply(AffineStep{matrix, AffineInterpolation::kNearest, {5, 6, 7}});
      eager.replace([&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
        transform_affine(source, matrix, AffineInterpolation::kNearest, {5, 6, 7}, source.size,
                         target, stride);
      });
      break;
    }
    case 7:
      image.apply(InvertStep{});
      eager.invert();
      break;
    case 8:
      image.apply(PixelStep{subtract_from, {255}});
      eager.invert();
      break;
    default:
      image.apply(ContrastStep{0.7f});
      eager.adjust_contrast(0.7f);
  }
}

class LazyImageSteps : public testing::TestWithParam<std::string> {};

TEST_P(LazyImageSteps, AreTheSameLazilyAndEagerly) {
  const StoredSample file = encoded_sample(GetParam());
  ImageDecoder decoder;
  PixelBuffer buffer;
  const PixelView pixels = decoder.decode(whole(decoder.open(file.bytes)), buffer);
  const StoredSample raw = raw_sample(pixels);
  LazyImage image;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    EagerImage eager = {pixels.size, raw.bytes};
    image.open(seed % 2 == 0 ? file : raw);
    const int steps = 1 + static_cast<int>(random() % 8);
    for (int i = 0; i < steps; ++i) take_random_step(random, image, eager);
    ASSERT_EQ(image.size(), eager.size) << "seed " << seed;
    ASSERT_EQ(bytes_of(image), std::vector<int>(eager.bytes.begin(), eager.bytes.end()))
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, LazyImageSteps, testing::Values("420.jpg", "rgb.png"),
                         [](const auto& name) {
                           return name.param.substr(0, 3) == "420" ? "jpeg" : "png";
                         });

std::int64_t peak_resident_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(LazyImage, OfAResizedImageNoMoreIsMadeThanItsCrop) {
  StoredSample narrow;  // whole, it would become 256 x 15,360,000 pixels
  narrow.width = 1;
  narrow.height = 60000;
  for (int i = 0; i < 3 * 60000; ++i) narrow.bytes.push_back(static_cast<std::uint8_t>(i / 300));
  const std::int64_t before = peak_resident_kilobytes();
  LazyImage image;
  image.open(narrow);
  image.apply(ResizeStep{{15'360'000, 256}, Interpolation::kBilinear});
  image.apply(CropStep{{7'679'888, 16, 224, 224}});
  const std::vector<int> bytes = bytes_of(image);
  EXPECT_LT(peak_resident_kilobytes() - before, 200'000);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    ASSERT_NEAR(bytes[i], narrow.bytes[3 * 30000], 1) << i;  // 256 of them follow from each pixel
}

TEST(LazyImage, RefusesToMakeMorePixelsThanAnImageMayHave) {
  StoredSample narrow;
  narrow.width = 1;
  narrow.height = 60000;
  narrow.bytes.resize(3 * 60000);
  LazyImage image;
  image.open(narrow);
  image.apply(ResizeStep{{15'360'000, 256}, Interpolation::kBilinear});
  EXPECT_THAT([&] { image.apply(SharpnessStep{2.0f}); },
              testing::ThrowsMessage<base::DataError>(
                  testing::AllOf(testing::HasSubstr("1 x 60000 pixels would become 256 x 15360000"),
                                 testing::HasSubstr("at most 178956970"))));
}

TEST(LazyImage, RefusesRawPixelsOfAnotherSize) {
  StoredSample sample;
  sample.width = 4;
  sample.height = 5;
  sample.bytes.resize(59);
  LazyImage image;
  EXPECT_THAT([&] { image.open(sample); },
              testing::ThrowsMessage<base::DataError>(
                  testing::HasSubstr("4 x 5 pixels has 59 bytes instead of 60")));
}

TEST(LazyImage, KeepsNoMemoryOfAGiant) {
  StoredSample giant;
  giant.width = 4000;
  giant.height = 4000;
  giant.bytes.resize(std::size_t{3} * 4000 * 4000);
  LazyImage image;
  image.open(giant);
  image.apply(InvertStep{});
  image.finish();
  EXPECT_GT(image.num_bytes(), giant.bytes.size());
  image.open(encoded_sample("rgb.png"));
  EXPECT_LT(image.num_bytes(), PixelBuffer::kMostKept);
}

}  // namespace
}  // namespace paceline::data
