#include "paceline/data/sources/mnist.h"

#include "paceline/base/error.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string idx(const std::vector<int>& shape, const std::string& values) {
  std::string file = std::string("\0\0\x08", 3) + static_cast<char>(shape.size());
  for (const int side : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(side >> shift & 255);
  }
  return file + values;
}

class Mnist : public ::testing::Test {
 protected:
  /// Two training images of 3 rows and 2 columns, one for testing.
  void write(const std::string& place, const std::string& gap = "-", bool is_compressed = false) {
    const std::vector<std::pair<std::string, std::string>> files = {
        {"train-images" + gap + "idx3", idx({2, 3, 2}, "abcdefuvwxyz")},
        {"train-labels" + gap + "idx1", idx({2}, "\x07\x02")},
        {"t10k-images" + gap + "idx3", idx({1, 3, 2}, "ABCDEF")},
        {"t10k-labels" + gap + "idx1", idx({1}, "\x08")}};
    for (const auto& [name, content] : files) {
      const fs::path file = folder_.write(place + name + "-ubyte", is_compressed ? "" : content);
      if (!is_compressed) continue;
      fs::remove(file);
      const gzFile zipped = gzopen((file.string() + ".gz").c_str(), "wb");
      gzwrite(zipped, content.data(), static_cast<unsigned>(content.size()));
      gzclose(zipped);
    }
  }
  void expect_both() const {
    const auto train = open_mnist(folder_.path(), true);
    EXPECT_EQ(train->size(), 2);
    EXPECT_EQ(train->num_classes(), 9);
    EXPECT_EQ(train->label(0), 7);
    StoredSample sample;
    train->get(1, sample);
    EXPECT_EQ(sample.label, 2);
    EXPECT_EQ(sample.height, 3);
    EXPECT_EQ(sample.width, 2);
    EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()), "uuuvvvwwwxxxyyyzzz");
    const auto val = open_mnist(folder_.path(), false);
    EXPECT_EQ(val->size(), 1);
    EXPECT_EQ(val->num_classes(), 9);
    EXPECT_NE(val->fingerprint(), train->fingerprint());
  }

  TempFolder folder_;
};

TEST_F(Mnist, ReadsPlainFiles) {
  write("");
  expect_both();
}

TEST_F(Mnist, ReadsCompressedFilesInRaw) {
  write("FashionMNIST/raw/", "-", true);
  expect_both();
}

TEST_F(Mnist, ReadsTheSpellingWithADot) {
  write("raw/", ".");
  expect_both();
}

TEST_F(Mnist, SaysWhatIsMissing) {
  EXPECT_THAT([&] { open_mnist(folder_.path(), true); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("train-images-idx3-ubyte"), HasSubstr("data.path"))));
  write("");
  fs::remove(folder_.path() / "t10k-labels-idx1-ubyte");
  EXPECT_THAT([&] { open_mnist(folder_.path(), false); },
              ThrowsMessage<base::DataError>(HasSubstr("t10k-labels-idx1-ubyte")));
  EXPECT_EQ(open_mnist(folder_.path(), true)->num_classes(), 8);
}

TEST_F(Mnist, AFileThatCannotBeLookedAtIsNotTakenForAbsent) {
  write("");
  const fs::path file = folder_.path() / "train-labels-idx1-ubyte";
  fs::remove(file);
  fs::create_symlink(file, file);
  EXPECT_THAT(
      [&] { open_mnist(folder_.path(), true); },
      ThrowsMessage<base::DataError>(AllOf(HasSubstr(file.string()), HasSubstr("symbolic links"))));
}

TEST_F(Mnist, NamesADamagedFile) {
  const auto refuses = [&](const std::string& content, const std::string& problem) {
    write("");
    folder_.write("train-images-idx3-ubyte", content);
    EXPECT_THAT([&] { open_mnist(folder_.path(), true); },
                ThrowsMessage<base::DataError>(
                    AllOf(HasSubstr("train-images-idx3-ubyte"), HasSubstr(problem))));
  };
  refuses("", "not an idx3 file");
  refuses(idx({12}, "abcdefuvwxyz"), "not an idx3 file");
  refuses(idx({2, 3, 2}, "abcdefuvwxy"), "holds 11 values, but its header says 12");
  refuses(idx({3, 2, 2}, "abcdefuvwxyz"), "3 images");
  refuses(idx({2, 0, 2}, ""), "images of 2 x 0 pixels");
  refuses(idx({1 << 30, 1 << 30, 1 << 30}, ""), "holds 0 values");
}

TEST_F(Mnist, NamesAllItsPlaces) {
  for (const char* place : {"", "raw/", "FashionMNIST/raw/"}) {
    write(place, "-");
    write(place, ".", true);
  }
  const std::vector<std::string> names = mnist_files();
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    if (!entry.is_regular_file()) continue;
    EXPECT_THAT(names,
                ::testing::Contains(entry.path().lexically_relative(folder_.path()).string()));
  }
}

TEST_F(Mnist, IsCopiedFromOtherMachines) {
  const test::CacheHome cache;
  const auto storage = std::make_shared<test::FakeStorage>();
  storage->files["s3://b/mnist/raw/t10k-images-idx3-ubyte"] =
      std::string("\0\0\x08\x03\0\0\0\1\0\0\0\2\0\0\0\2abcd", 20);
  storage->files["s3://b/mnist/raw/t10k-labels-idx1-ubyte"] =
      std::string("\0\0\x08\x01\0\0\0\1\3", 9);
  const auto mnist = open(MnistConfig{"s3://b/mnist"}, Split::kVal, storage);
  EXPECT_EQ(mnist->size(), 1);
  EXPECT_EQ(mnist->label(0), 3);
}

}  // namespace
}  // namespace paceline::data
