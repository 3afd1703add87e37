#include "paceline/base/pickle/pickle.h"

#include "paceline/base/file.h"
#include "support/data/mutations.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::base {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Kind = PickleValue::Kind;

PickleRules plain_rules() {
  return {.allows =
              [](std::string_view global) {
                return global == "collections.OrderedDict" || global == "_codecs.encode" ||
                       global == "builtins.set" || global == "__builtin__.set";
              },
          .refusal = ", which is no plain data"};
}

/// The text must outlive what is read.
ReadPickle read_text(const std::string& text, const PickleRules& rules = plain_rules()) {
  return read_pickle({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, rules);
}

std::string golden(int protocol) {
  return read_file(fmt::format("{}/pickle/protocol{}", PACELINE_GOLDEN_DIR, protocol));
}

class PickleOfProtocol : public ::testing::TestWithParam<int> {};

TEST_P(PickleOfProtocol, HoldsWhatPythonWrote) {
  const std::string bytes = golden(GetParam());
  const ReadPickle pickle = read_text(bytes);
  EXPECT_EQ(pickle.num_bytes, bytes.size());
  const PickleValue& dict = *pickle.value;
  ASSERT_EQ(dict.kind, Kind::kDict);
  EXPECT_EQ(dict.find("none")->kind, Kind::kNone);
  EXPECT_EQ(dict.find("flags")->items.at(0)->integer, 1);
  EXPECT_EQ(dict.find("flags")->items.at(1)->integer, 0);
  const auto& ints = dict.find("ints")->items;
  const std::vector<std::int64_t> expected{0, 255, 65535, -70000, std::int64_t{1} << 40, -1};
  ASSERT_EQ(ints.size(), expected.size() + 1);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(ints[i]->integer, expected[i]);
  EXPECT_EQ(ints.back()->kind, Kind::kBigInt);
  EXPECT_EQ(dict.find("reals")->items.at(0)->real, 1.5);
  EXPECT_EQ(dict.find("reals")->items.at(1)->real, -2e300);
  EXPECT_EQ(dict.find("text")->text, "k\u00e4se \u20ac \U0001f600\n");
  EXPECT_EQ(dict.find("bytes")->text, std::string_view("\x00\xe9'\"\\", 5));
  EXPECT_EQ(dict.find("nested")->entries.at(0).first->integer, 1);
  EXPECT_TRUE(dict.find("nested")->entries.at(0).second->find("deep")->items.empty());
  EXPECT_EQ(dict.find("absent"), nullptr);
}

TEST_P(PickleOfProtocol, ObjectsAreTold) {
  const std::string bytes = golden(GetParam());
  const ReadPickle pickle = read_text(bytes);
  const PickleValue& ordered = *pickle.value->find("ordered");
  ASSERT_EQ(ordered.kind, Kind::kObject);
  EXPECT_EQ(ordered.text, "collections.OrderedDict");
  if (GetParam() > 0) {
    ASSERT_EQ(ordered.entries.size(), 2u);
    EXPECT_EQ(ordered.entries[0].first->text, "b");
    EXPECT_EQ(ordered.find("a")->integer, 2);
  }
  const PickleValue& set = *pickle.value->find("set");
  const bool is_spelled_as_call = GetParam() < 4;
  EXPECT_EQ((is_spelled_as_call ? *set.argument->items.at(0) : set).items.at(0)->integer, 7);
  const auto& shared = pickle.value->find("shared")->items;
  EXPECT_EQ(shared.at(0), shared.at(1));
}

TEST_P(PickleOfProtocol, EveryTruncationIsAnError) {
  const std::string whole = golden(GetParam());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(read_text(whole.substr(0, size)), PickleError) << size;
}

INSTANTIATE_TEST_SUITE_P(EveryProtocol, PickleOfProtocol, ::testing::Range(0, 6));

TEST(Pickle, ANameThatTheRulesDoNotAllowIsRefused) {
  EXPECT_THAT(
      [] {
        read_text(
            "\x80\x02"
            "cos\nsystem\nX\x01\0\0\0x\x85R.");
      },
      ThrowsMessage<PickleError>(AllOf(HasSubstr("os.system"), HasSubstr("no plain data"))));
}

TEST(Pickle, ReferencesNeedToBeAllowed) {
  const std::string text = "\x80\x02K\x07\x85Q.";
  EXPECT_THAT([&] { read_text(text); }, ThrowsMessage<PickleError>(HasSubstr("outside")));
  PickleRules rules = plain_rules();
  rules.has_references = true;
  const ReadPickle pickle = read_text(text, rules);
  ASSERT_EQ(pickle.value->kind, Kind::kReference);
  EXPECT_EQ(pickle.value->argument->items.at(0)->integer, 7);
}

TEST(Pickle, OfSeveralTheEndOfTheFirstIsTold) {
  EXPECT_EQ(read_text("\x80\x02K\x07.\x80\x02K\x08.").num_bytes, 5u);
}

TEST(Pickle, DepthIsBounded) {
  const std::string start = "\x80\x02)";
  const std::string deep = start + std::string(100, '\x85') + ".";
  EXPECT_EQ(read_text(deep).value->items.size(), 1u);
  for (const std::size_t depth : {std::size_t{101}, std::size_t{200'000}}) {
    EXPECT_THAT([&] { read_text(start + std::string(depth, '\x85') + "."); },
                ThrowsMessage<PickleError>(HasSubstr("more than 100 deep")));
  }
  std::string lists = "\x80\x02]";  // each list is put into the next one
  for (int i = 0; i < 200'000; ++i)
    lists +=
        "q\x01]h\x01"
        "a";
  EXPECT_THROW(read_text(lists + "."), PickleError);
  std::string dicts = "\x80\x02}";
  for (int i = 0; i < 200'000; ++i) dicts += "q\x01}U\x01xh\x01s";
  EXPECT_THROW(read_text(dicts + "."), PickleError);
}

TEST(Pickle, AListInsideItselfIsNoDanger) {
  const std::string text =
      "\x80\x02]q\x01h\x01"
      "a.";
  EXPECT_EQ(read_text(text).value->items.size(), 1u);
}

TEST(Pickle, ItsSizeIsBounded) {
  EXPECT_THAT([] { read_text("\x80\x02(" + std::string(5'000'000, 'N') + "t."); },
              ThrowsMessage<PickleError>(HasSubstr("values")));
  std::string pops = "\x80\x02N";
  for (int i = 0; i < 9'000'000; ++i) pops += "20";
  EXPECT_THAT([&] { read_text(pops + "."); }, ThrowsMessage<PickleError>(HasSubstr("operations")));
  // 40,000 bytes, which "encode" would copy 4,000 times.
  std::string copies = "\x80\x02X";
  copies += std::string("\x40\x9c\x00\x00", 4) + std::string(40'000, 'x') + "q\x01U\x06latin1q\x02";
  for (int i = 0; i < 4'000; ++i) copies += "c_codecs\nencode\nh\x01h\x02\x86R";
  EXPECT_THAT([&] { read_text(copies + "."); },
              ThrowsMessage<PickleError>(HasSubstr("over and over")));
}

TEST(Pickle, WhatIsNoPickleIsAnError) {
  for (const char* text :
       {".", "a.", "(.", "t.", "K", "h\x07.", "g7\n.", "px\n.", "I7\nb.", "Sx\n.", "V\\u12\n.",
        "F1.x\n.", "K\x01K\x02R.", "}K\x01(K\x02u.", "\x97."})
    EXPECT_THROW(read_text(text), PickleError) << text;
  EXPECT_THAT([] { read_text("\x80\x06N."); }, ThrowsMessage<PickleError>(HasSubstr("protocol 6")));
}

TEST(PickleFuzz, IsReadOrRefused) {
  int refused = 0;
  const int count = data::repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes = golden(static_cast<int>(random() % 6));
    data::mutate(bytes, random);
    try {
      const ReadPickle pickle = read_text(bytes);
      ASSERT_LE(pickle.value->depth, 100);
    } catch (const PickleError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count);
}

}  // namespace
}  // namespace paceline::base
