// Decoding crops of JPEG files by libjpeg and by the own decoder: jpeg_decode FOLDER
//
// A box as RandomResizedCrop draws it of every file below FOLDER that the own decoder takes; the
// decoders take turns and must agree. Prints the mean of each file's least microseconds:
// {"libjpeg_us": ..., "own_us": ..., "entropy_us": ..., "files": ..., "left_to_libjpeg": ...}.

#include "paceline/data/codec/jpeg/baseline_decoder.h"
#include "paceline/data/codec/jpeg/libjpeg_decoder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pl = paceline::data;

namespace {

constexpr int kRepetitions = 5;

/// A box of a file, and the least times seen, as others may use the machine.
struct Case {
  std::vector<std::uint8_t> file;
  pl::Box box;
  double libjpeg_us = std::numeric_limits<double>::max();
  double own_us = std::numeric_limits<double>::max();
  double entropy_us = std::numeric_limits<double>::max();
};

template <class Work>
void measure(double& least_us, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - begin;
  least_us = std::min(least_us, elapsed.count());
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

bool are_equal(const pl::PixelView& a, const pl::PixelView& b) {
  const std::size_t row_bytes = std::size_t{3} * static_cast<std::size_t>(a.size.width);
  for (int y = 0; y < a.size.height; ++y) {
    if (std::memcmp(a.row(y), b.row(y), row_bytes) != 0) return false;
  }
  return true;
}

/// The decoders and what they need, used for all files in turn, so that no file finds the Huffman
/// tables of its own last time.
class Contest {
 public:
  void run(Case& it) {
    pl::PixelView expected;
    measure(it.libjpeg_us, [&] {
      libjpeg_.open(it.file);
      expected = libjpeg_.decode(it.box, expected_);
    });
    std::optional<pl::PixelView> pixels;
    measure(it.own_us, [&] {
      own_.open(it.file);
      pixels = own_.decode(it.box, pixels_);
    });
    if (!pixels || !are_equal(*pixels, expected)) throw std::runtime_error("the decoders differ");
    pl::jpeg::parse_header(it.file, header_);
    const pl::Box mcus = pl::jpeg::needed_mcus(header_, it.box);
    row_.resize(header_, mcus.left, mcus.width);
    measure(it.entropy_us, [&] {
      scan_.start(header_, it.file);
      for (int y = mcus.top; y < mcus.bottom(); ++y) scan_.read(y, row_);
    });
  }

 private:
  pl::jpeg::LibjpegDecoder libjpeg_;
  pl::jpeg::BaselineDecoder own_;
  pl::jpeg::ScanDecoder scan_;
  pl::jpeg::Header header_;
  pl::jpeg::CoefficientRow row_;
  pl::PixelBuffer expected_;
  pl::PixelBuffer pixels_;
};

/// The files below a folder that the own decoder takes; counts the others.
std::vector<Case> read_cases(const char* folder, int& num_left) {
  std::vector<Case> cases;
  std::mt19937 random(1);
  pl::jpeg::BaselineDecoder decoder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::vector<char> text((std::istreambuf_iterator<char>(stream)), {});
    Case it;
    it.file.assign(text.begin(), text.end());
    if (const auto size = decoder.open(it.file)) {
      it.box = random_resized_crop(*size, random);
      cases.push_back(std::move(it));
    } else {
      ++num_left;
    }
  }
  return cases;
}

double mean(const std::vector<Case>& cases, double Case::*time) {
  double sum = 0;
  for (const Case& it : cases) sum += it.*time;
  return sum / static_cast<double>(std::max<std::size_t>(cases.size(), 1));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: jpeg_decode FOLDER\n");
    return 2;
  }
  int num_left = 0;
  std::vector<Case> cases = read_cases(argv[1], num_left);
  Contest contest;
  for (int i = 0; i < kRepetitions; ++i) {
    for (Case& it : cases) contest.run(it);
  }
  std::printf(
      "{\"libjpeg_us\": %.1f, \"own_us\": %.1f, \"entropy_us\": %.1f, \"files\": %zu, "
      "\"left_to_libjpeg\": %d}\n",
      mean(cases, &Case::libjpeg_us), mean(cases, &Case::own_us), mean(cases, &Case::entropy_us),
      cases.size(), num_left);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
