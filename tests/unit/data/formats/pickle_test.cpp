#include "paceline/data/formats/pickle.h"

#include "paceline/base/error.h"
#include "support/data/mutations.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;

PicklePointer read_text(const std::string& text) {
  return read_pickle({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "file.pkl");
}

std::string golden(const std::string& name) {
  return base::read_file(std::string(PACELINE_GOLDEN_DIR) + "/cifar/" + name);
}

class PickleOf : public ::testing::TestWithParam<const char*> {};

TEST_P(PickleOf, HoldsTheBatchThatPythonWrote) {
  const PicklePointer batch = read_text(golden(GetParam()));
  ASSERT_EQ(batch->kind, PickleValue::Kind::kDict);
  const auto& labels = batch->entries.at("labels")->items;
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_EQ(labels[0]->integer, 3);
  EXPECT_EQ(labels[1]->integer, 9);
  const PickleValue& data = *batch->entries.at("data");
  ASSERT_EQ(data.kind, PickleValue::Kind::kArray);
  EXPECT_EQ(data.dtype, "u1");
  EXPECT_THAT(data.shape, ::testing::ElementsAre(2, 3072));
  ASSERT_EQ(data.text.size(), 6144u);
  for (std::size_t i = 0; i < data.text.size(); ++i) {
    ASSERT_EQ(static_cast<std::uint8_t>(data.text[i]), i * 7 % 251) << i;
  }
  EXPECT_EQ(batch->entries.at("filenames")->items.at(1)->text, "b.png");
  EXPECT_EQ(batch->entries.at("batch_label")->text, "training batch 1 of 5");
}

INSTANTIATE_TEST_SUITE_P(EveryProtocol, PickleOf,
                         ::testing::Values("python2_protocol2", "python3_protocol2",
                                           "python3_protocol3", "python3_protocol4",
                                           "python3_protocol5"));

TEST(Pickle, ReadsNumbersOfEveryKind) {
  const PicklePointer batch = read_text(golden("python3_protocol2"));
  const auto& extra = batch->entries.at("extra")->items;
  ASSERT_EQ(extra.size(), 5u);
  EXPECT_EQ(extra[0]->real, 1.5);
  EXPECT_EQ(extra[1]->kind, PickleValue::Kind::kNone);
  EXPECT_EQ(extra[2]->integer, 1);
  EXPECT_EQ(extra[3]->integer, -70000);
  EXPECT_EQ(extra[4]->integer, std::int64_t{1} << 40);
}

TEST(Pickle, RunsNothing) {
  try {
    read_text(golden("dangerous"));
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("file.pkl"));
    EXPECT_THAT(error.what(), HasSubstr("print"));
  }
}

TEST(Pickle, EveryTruncationIsAnError) {
  const std::string whole = golden("python2_protocol2");
  for (std::size_t size = 0; size < whole.size(); size += size < 400 ? 1 : 97) {
    EXPECT_THROW(read_text(whole.substr(0, size)), base::DataError) << size;
  }
}

TEST(Pickle, EveryFlippedByteIsReadOrRefused) {
  const std::string whole = golden("python3_protocol2");
  for (std::size_t at = 0; at < whole.size(); at += at < 400 ? 1 : 41) {
    for (const unsigned flip : {1u, 16u, 128u, 255u}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
      try {
        read_text(damaged);
      } catch (const base::DataError&) {
        // The one way to refuse.
      }
    }
  }
}

TEST(Pickle, RefusesArraysWhoseBytesDoNotFit) {
  std::string damaged = golden("python2_protocol2");
  const std::size_t at = damaged.find("K\x02M");
  ASSERT_NE(at, std::string::npos);
  damaged[at + 1] = 3;
  EXPECT_THROW(read_text(damaged), base::DataError);
}

TEST(Pickle, DepthIsBounded) {
  const std::string start = "\x80\x02)";
  EXPECT_EQ(read_text(start + std::string(100, '\x85') + ".")->items.size(), 1u);
  for (const std::size_t depth : {std::size_t{101}, std::size_t{200'000}}) {
    EXPECT_THAT([&] { read_text(start + std::string(depth, '\x85') + "."); },
                ::testing::ThrowsMessage<base::DataError>(HasSubstr("more than 100 deep")));
  }
  std::string lists = "\x80\x02]";  // each list is put into the next one
  for (int i = 0; i < 200'000; ++i)
    lists +=
        "q\x01]h\x01"
        "a";
  EXPECT_THROW(read_text(lists + "."), base::DataError);
  std::string dicts = "\x80\x02}";
  for (int i = 0; i < 200'000; ++i) dicts += "q\x01}U\x01xh\x01s";
  EXPECT_THROW(read_text(dicts + "."), base::DataError);
}

TEST(Pickle, AListInsideItselfIsNoDanger) {
  EXPECT_EQ(read_text("\x80\x02]q\x01h\x01"
                      "a.")
                ->items.size(),
            1u);
}

TEST(Pickle, ItsSizeIsBounded) {
  EXPECT_THAT([&] { read_text("\x80\x02(" + std::string(5'000'000, 'N') + "t."); },
              ::testing::ThrowsMessage<base::DataError>(HasSubstr("values")));
  // 40,000 bytes, which "encode" would copy 4,000 times.
  std::string copies = "\x80\x02X";
  copies += std::string("\x40\x9c\x00\x00", 4) + std::string(40'000, 'x') + "q\x01U\x06latin1q\x02";
  for (int i = 0; i < 4'000; ++i) copies += "c_codecs\nencode\nh\x01h\x02\x86R";
  EXPECT_THAT([&] { read_text(copies + "."); },
              ::testing::ThrowsMessage<base::DataError>(HasSubstr("over and over")));
}

TEST(PickleFuzz, StaysInsideTheFile) {
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
      const PicklePointer value = read_text(bytes);
      ASSERT_LE(value->depth, 100);
    } catch (const base::DataError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count);
}

}  // namespace
}  // namespace paceline::data
