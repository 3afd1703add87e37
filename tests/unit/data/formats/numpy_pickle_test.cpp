#include "paceline/data/formats/numpy_pickle.h"

#include "paceline/base/error.h"
#include "support/data/mutations.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using base::PickleValue;
using ::testing::HasSubstr;

/// The text must outlive what is read.
std::shared_ptr<const PickleValue> read_batch(const std::string& text) {
  return read_numpy_pickle({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
                           "file.pkl");
}

PickledArray array_in(const PickleValue& batch) {
  const PickleValue* const data = batch.find("data");
  if (data == nullptr) throw base::DataError("no data");
  return pickled_array(*data, "file.pkl");
}

std::string golden(const std::string& name) {
  return base::read_file(std::string(PACELINE_GOLDEN_DIR) + "/cifar/" + name);
}

class NumpyPickleOf : public ::testing::TestWithParam<const char*> {};

TEST_P(NumpyPickleOf, HoldsTheBatchThatPythonWrote) {
  const std::string text = golden(GetParam());
  const auto batch = read_batch(text);
  ASSERT_EQ(batch->kind, PickleValue::Kind::kDict);
  const auto& labels = batch->find("labels")->items;
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_EQ(labels[0]->integer, 3);
  EXPECT_EQ(labels[1]->integer, 9);
  const PickledArray data = array_in(*batch);
  EXPECT_EQ(data.dtype, "u1");
  EXPECT_THAT(data.shape, ::testing::ElementsAre(2, 3072));
  ASSERT_EQ(data.bytes.size(), 6144u);
  for (std::size_t i = 0; i < data.bytes.size(); ++i)
    ASSERT_EQ(static_cast<std::uint8_t>(data.bytes[i]), i * 7 % 251) << i;
  EXPECT_EQ(batch->find("filenames")->items.at(1)->text, "b.png");
  EXPECT_EQ(batch->find("batch_label")->text, "training batch 1 of 5");
}

INSTANTIATE_TEST_SUITE_P(EveryProtocol, NumpyPickleOf,
                         ::testing::Values("python2_protocol2", "python3_protocol2",
                                           "python3_protocol3", "python3_protocol4",
                                           "python3_protocol5"));

TEST(NumpyPickle, RunsNothing) {
  EXPECT_THAT([] { read_batch(golden("dangerous")); },
              ::testing::ThrowsMessage<base::DataError>(
                  ::testing::AllOf(HasSubstr("file.pkl"), HasSubstr("print"), HasSubstr("NumPy"))));
}

TEST(NumpyPickle, EveryTruncationIsAnError) {
  const std::string whole = golden("python2_protocol2");
  for (std::size_t size = 0; size < whole.size(); size += size < 400 ? 1 : 97) {
    EXPECT_THROW(read_batch(whole.substr(0, size)), base::DataError) << size;
  }
}

TEST(NumpyPickle, EveryFlippedByteIsReadOrRefused) {
  const std::string whole = golden("python3_protocol2");
  for (std::size_t at = 0; at < whole.size(); at += at < 400 ? 1 : 41) {
    for (const unsigned flip : {1u, 16u, 128u, 255u}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
      try {
        array_in(*read_batch(damaged));
      } catch (const base::DataError&) {
        // The one way to refuse.
      }
    }
  }
}

TEST(NumpyPickle, RefusesArraysWhoseBytesDoNotFit) {
  std::string damaged = golden("python2_protocol2");
  const std::size_t at = damaged.find("K\x02M");
  ASSERT_NE(at, std::string::npos);
  damaged[at + 1] = 3;
  EXPECT_THROW(array_in(*read_batch(damaged)), base::DataError);
}

TEST(NumpyPickle, RefusesWhatIsNoArray) {
  const std::string text = golden("python3_protocol4");
  const auto batch = read_batch(text);
  EXPECT_THROW(pickled_array(*batch->find("labels"), "file.pkl"), base::DataError);
  EXPECT_THROW(pickled_array(*batch->find("data")->argument, "file.pkl"), base::DataError);
}

TEST(NumpyPickleFuzz, StaysInsideTheFile) {
  int refused = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes = golden(random() % 2 == 0 ? "python2_protocol2" : "python3_protocol4");
    // What Python wrote about the pixels is more than their bytes.
    const std::size_t pixels = bytes.find(std::string("\x00\x07\x0e", 3));
    mutate(bytes, random);
    if (pixels < bytes.size() && random() % 2 == 0) {
      std::string structure = bytes.substr(0, pixels);
      mutate(structure, random);
      bytes.replace(0, pixels, structure);
    }
    try {
      const auto batch = read_batch(bytes);
      ASSERT_EQ(array_in(*batch).bytes.size(), 6144u);
    } catch (const base::DataError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count);
}

}  // namespace
}  // namespace paceline::data
