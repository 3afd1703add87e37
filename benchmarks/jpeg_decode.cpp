// Decoding crops of JPEG files by libjpeg and by the own decoder: jpeg_decode FOLDER [BOXES]
//
// Every file below FOLDER that the own decoder takes, one box each as RandomResizedCrop draws it,
// or BOXES of them; the decoders take turns and must agree. Prints mean microseconds an image:
// {"libjpeg_us": ..., "own_us": ..., "entropy_us": ..., "files": ..., "left_to_libjpeg": ...}.

#include "paceline/data/codec/jpeg/baseline_decoder.h"
#include "paceline/data/codec/jpeg/libjpeg_decoder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace pl = paceline::data;

namespace {

constexpr int kRepetitions = 5;

struct Totals {
  double libjpeg_us = 0;
  double own_us = 0;
  double entropy_us = 0;
  int num_boxes = 0;
  int num_files = 0;
  int num_left = 0;
};

/// The least of some runs, as others may use the machine.
template <class Work>
double least_us(const Work& work) {
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < kRepetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - begin;
    least = std::min(least, elapsed.count());
  }
  return least;
}

pl::Box random_resized_crop(pl::ImageSize size, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area =
        size.height * static_cast<double>(size.width) * (0.08 + 0.92 * uniform(random));
    const double ratio = 0.75 * std::pow(16.0 / 9.0, uniform(random));
    const auto width = static_cast<int>(std::lround(std::sqrt(area * ratio)));
    const auto height = static_cast<int>(std::lround(std::sqrt(area / ratio)));
    if (width < 1 || height < 1 || width > size.width || height > size.height) continue;
    const auto below = [&](int bound) {
      return static_cast<int>(random() % static_cast<unsigned>(bound));
    };
    return {below(size.height - height + 1), below(size.width - width + 1), height, width};
  }
  return pl::whole(size);
}

void require_equal(const pl::PixelView& a, const pl::PixelView& b, const std::string& name) {
  for (int y = 0; y < a.size.height; ++y) {
    if (std::memcmp(a.row(y), b.row(y), std::size_t{3} * static_cast<std::size_t>(a.size.width)) !=
        0) {
      throw std::runtime_error(name + ": the decoders differ");
    }
  }
}

/// Decoders and what they need, used for all files.
class Comparison {
 public:
  void add(const std::filesystem::path& path, int num_boxes) {
    std::ifstream stream(path, std::ios::binary);
    const std::vector<char> text((std::istreambuf_iterator<char>(stream)), {});
    const std::vector<std::uint8_t> file(text.begin(), text.end());
    ++totals_.num_files;
    const auto size = own_.open(file);
    if (!size) {
      ++totals_.num_left;
      return;
    }
    for (int i = 0; i < num_boxes; ++i) measure(file, random_resized_crop(*size, random_), path);
  }
  const Totals& totals() const { return totals_; }

 private:
  void measure(const std::vector<std::uint8_t>& file, const pl::Box& box,
               const std::filesystem::path& path) {
    pl::PixelView expected;
    totals_.libjpeg_us += least_us([&] {
      libjpeg_.open(file);
      expected = libjpeg_.decode(box, expected_);
    });
    std::optional<pl::PixelView> pixels;
    totals_.own_us += least_us([&] {
      own_.open(file);
      pixels = own_.decode(box, pixels_);
    });
    if (!pixels) throw std::runtime_error(path.string() + ": the own decoder gives up");
    require_equal(*pixels, expected, path.string());
    pl::jpeg::parse_header(file, header_);
    const pl::Box mcus = pl::jpeg::needed_mcus(header_, box);
    row_.resize(header_, mcus.left, mcus.width);
    totals_.entropy_us += least_us([&] {
      scan_.start(header_, file);
      for (int y = mcus.top; y < mcus.bottom(); ++y) scan_.read(y, row_);
    });
    ++totals_.num_boxes;
  }

  pl::jpeg::LibjpegDecoder libjpeg_;
  pl::jpeg::BaselineDecoder own_;
  pl::jpeg::ScanDecoder scan_;
  pl::jpeg::Header header_;
  pl::jpeg::CoefficientRow row_;
  pl::PixelBuffer expected_;
  pl::PixelBuffer pixels_;
  std::mt19937 random_{1};
  Totals totals_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "usage: jpeg_decode FOLDER [BOXES]\n");
    return 2;
  }
  Comparison comparison;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (entry.is_regular_file()) comparison.add(entry.path(), argc > 2 ? std::atoi(argv[2]) : 1);
  }
  const Totals& totals = comparison.totals();
  const double count = std::max(totals.num_boxes, 1);
  std::printf(
      "{\"libjpeg_us\": %.1f, \"own_us\": %.1f, \"entropy_us\": %.1f, \"files\": %d, "
      "\"left_to_libjpeg\": %d}\n",
      totals.libjpeg_us / count, totals.own_us / count, totals.entropy_us / count, totals.num_files,
      totals.num_left);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
