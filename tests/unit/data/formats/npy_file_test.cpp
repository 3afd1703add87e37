#include "paceline/data/formats/npy_file.h"

#include "paceline/base/error.h"
#include "support/data/mutations.h"
#include "support/data/test_images.h"
#include "support/temp_folder.h"

#include <functional>
#include <numeric>

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::filesystem::path golden_npy(const std::string& name) {
  return std::filesystem::path(PACELINE_GOLDEN_DIR) / "npy" / name;
}

TEST(NpyFile, OpensAllVersions) {
  EXPECT_THAT(open_npy(golden_npy("rgb.npy")).shape, ElementsAre(2, 3, 4, 3));     // 1
  EXPECT_THAT(open_npy(golden_npy("planes.npy")).shape, ElementsAre(2, 3, 3, 4));  // 2
  EXPECT_THAT(open_npy(golden_npy("gray.npy")).shape, ElementsAre(2, 3, 4));       // 3
  EXPECT_TRUE(open_npy(golden_npy("scalar.npy")).shape.empty());
  const NpyArray rgb = open_npy(golden_npy("rgb.npy"));
  std::vector<std::uint8_t> expected(72);
  std::iota(expected.begin(), expected.end(), std::uint8_t{0});
  EXPECT_EQ(std::vector<std::uint8_t>(rgb.bytes.begin(), rgb.bytes.end()), expected);
}

TEST(NpyFile, WritesHeadersThatItReads) {
  const paceline::test::TempFolder folder;
  using Shape = std::vector<std::int64_t>;
  for (const Shape& shape : {Shape{3}, Shape{3, 2}, Shape(12, 1), Shape{0, 1'000'000'000}}) {
    const std::string header = npy_header("<i2", shape);
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.back(), '\n');
    const auto count = std::accumulate(shape.begin(), shape.end(), 2, std::multiplies<>());
    const auto path = folder.write("array.npy", header + std::string(count, 'x'));
    const NpyArray array = open_npy(path);
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(array.kind, 'i');
    EXPECT_EQ(array.item_size, 2);
    EXPECT_EQ(array.bytes.size(), static_cast<std::size_t>(count));
  }
}

TEST(NpyFile, ReadsIntegersOfAllKinds) {
  for (const char* kind : {"i1", "u1"}) {
    EXPECT_THAT(npy_integers(open_npy(golden_npy(fmt::format("labels_{}.npy", kind)))),
                ElementsAre(1, 2));
  }
  for (const char* kind : {"i2", "u2", "i4", "u4", "i8", "u8"}) {
    EXPECT_THAT(npy_integers(open_npy(golden_npy(fmt::format("labels_{}.npy", kind)))),
                ElementsAre(1, 300));
  }
  EXPECT_THAT(npy_integers(open_npy(golden_npy("negative.npy"))), ElementsAre(1, -2));
  EXPECT_THAT([] { npy_integers(open_npy(golden_npy("float.npy"))); },
              ThrowsMessage<base::DataError>(HasSubstr("floating-point values ('<f4')")));
  EXPECT_THAT([] { npy_integers(open_npy(golden_npy("too_large.npy"))); },
              ThrowsMessage<base::DataError>(HasSubstr("value 1 is too large")));
}

TEST(NpyFile, OpensFloats) {
  const NpyArray floats = open_npy(golden_npy("float.npy"));
  EXPECT_EQ(floats.kind, 'f');
  EXPECT_EQ(floats.item_size, 4);
  EXPECT_EQ(floats.bytes.size(), 4u * 72);
  const NpyArray halves = open_npy(golden_npy("half.npy"));
  EXPECT_EQ(halves.item_size, 2);
  EXPECT_THAT(halves.shape, ElementsAre(2, 3));
}

TEST(NpyFile, SaysWhatItCannotTake) {
  const auto refuses = [](const std::string& name, const std::string& problem) {
    EXPECT_THAT([&] { open_npy(golden_npy(name)); },
                ThrowsMessage<base::DataError>(AllOf(HasSubstr(name), HasSubstr(problem))));
  };
  refuses("fortran.npy", "Fortran");
  refuses("objects.npy", "Python's objects");
  refuses("complex.npy", "expected integers");
  refuses("big_endian.npy", "big-endian values ('>i4')");
  refuses("fields.npy", "fields");
  refuses("text.npy", "expected integers");
  refuses("absent.npy", "");
  refuses("make_npy.py", "not a .npy file");
}

TEST(NpyFile, FindsTruncation) {
  const MemoryFile memory;
  const std::vector<std::uint8_t> sound = read_bytes(golden_npy("rgb.npy"));
  for (std::size_t size = 0; size < sound.size(); ++size) {
    const std::string file = memory.write({sound.begin(), sound.begin() + static_cast<long>(size)});
    EXPECT_THROW(open_npy(file), base::DataError) << size;
  }
}

TEST(NpyFileFuzz, StaysInsideTheFile) {
  const MemoryFile memory;
  const std::vector<std::uint8_t> sound = read_bytes(golden_npy("labels_i4.npy"));
  int refused = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes(sound.begin(), sound.end());
    const std::size_t blanks = bytes.find('}') + 1;  // in which nothing can be hit
    const std::size_t num_blanks = bytes.find('\n') - blanks;
    bytes.erase(blanks, num_blanks);
    bytes[8] = static_cast<char>(bytes[8] - static_cast<int>(num_blanks));
    mutate(bytes, random);
    try {
      const NpyArray array = open_npy(memory.write(bytes));
      ASSERT_LE(array.bytes.size(), bytes.size());
      npy_integers(array);
    } catch (const base::DataError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count);
}

}  // namespace
}  // namespace paceline::data
