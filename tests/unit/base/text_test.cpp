#include "paceline/base/text.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::base {
namespace {

using ::testing::ElementsAre;

TEST(ShellWord, IsQuotedWhereItMust) {
  EXPECT_EQ(shell_word("train.duration=3ep"), "train.duration=3ep");
  EXPECT_EQ(shell_word("~loggers.jsonl"), "'~loggers.jsonl'");
  EXPECT_EQ(shell_word("+callbacks={a: b}"), "'+callbacks={a: b}'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Text, ShowsUrlsBare) {
  EXPECT_EQ(with_bare_urls("https://me:pass@host:1/a@b?sig=1#t: HTTP 403"),
            "https://host:1/a@b: HTTP 403");
  EXPECT_EQ(with_bare_urls("'http://h?x' and https://u@h/, or s3://b/what?.jpg"),
            "'http://h' and https://h/, or s3://b/what?.jpg");
  for (const char* plain :
       {"", "no URL?", "http://", "://", "https://host/x.", "https://a/b https://c"})
    EXPECT_EQ(with_bare_urls(plain), plain);
}

TEST(Text, KnowsUtf8) {
  for (const char* good : {"", "a", "\u00e4\u20ac", "\U0001F600", "\ufeff", "\U0010FFFF"}) {
    EXPECT_FALSE(find_invalid_utf8(good)) << good;
  }
  // A lone continuation, a cut character, an overlong one, half a pair of UTF-16, too large,
  // Latin-1.
  for (const char* bad : {"ab\x80", "ab\xe2\x82", "ab\xc0\x80", "ab\xe0\x80\x80", "ab\xed\xa0\x80",
                          "ab\xf4\x90\x80\x80", "ab\xf8", "ab\xe4z"}) {
    EXPECT_EQ(find_invalid_utf8(bad), 2) << bad;
  }
}

TEST(Text, ExcerptsAreOneShortLine) {
  EXPECT_EQ(excerpt("a\nb\x1b[31m\t"), "a\\nb\\x1b[31m\\x09");
  EXPECT_EQ(excerpt("123456", 6), "123456");
  EXPECT_EQ(excerpt("1234567", 6), "123456...");
  EXPECT_EQ(excerpt("12345\u20ac7", 6), "12345...");
}

TEST(Text, SplitsAndJoins) {
  EXPECT_THAT(split("a.b.c", '.'), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split("", '.'), ElementsAre(""));
  EXPECT_THAT(split(".a.", '.'), ElementsAre("", "a", ""));
  EXPECT_EQ(join(std::vector<std::string>{"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join_first(std::vector<std::string>{"a", "b"}, 2), "a, b");
  EXPECT_EQ(join_first(std::vector<std::string>{"a", "b", "c", "d"}, 2), "a, b and 2 more");
  EXPECT_EQ(join_first({}, 3), "");
}

TEST(Text, TrimsAndLowers) {
  EXPECT_EQ(trim(" \t a b\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(to_lower("AbZ-9é"), "abz-9é");
}

TEST(Text, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("momentum", "momentun"), 1u);
  EXPECT_EQ(edit_distance("abcd", "acbd"), 1u);  // a swap of neighbours
  EXPECT_EQ(edit_distance("abc", "abc"), 0u);
}

TEST(Text, FindsTheNearestName) {
  const std::vector<std::string> names = {"lr", "momentum", "weight_decay", "nesterov"};
  EXPECT_EQ(nearest_name("momentun", names), "momentum");
  EXPECT_EQ(nearest_name("Weight-Decay", names), "weight_decay");
  EXPECT_EQ(nearest_name("wieght_deacy", names), "weight_decay");
  EXPECT_EQ(nearest_name("rl", names), "lr");
  EXPECT_EQ(nearest_name("batch_size", names), "");
  EXPECT_EQ(nearest_name("x", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("momentum", {}), "");
}

TEST(Text, FormatsBytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes((1ull << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(3ull << 30), "3.0 GiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
}

TEST(Text, FormatsDurations) {
  EXPECT_EQ(format_duration(0), "0.0 ms");
  EXPECT_EQ(format_duration(0.0004), "0.4 ms");
  EXPECT_EQ(format_duration(12.34), "12.3 s");
  EXPECT_EQ(format_duration(59.96), "1 m 00 s");
  EXPECT_EQ(format_duration(245), "4 m 05 s");
  EXPECT_EQ(format_duration(3599.7), "1 h 00 m");
  EXPECT_EQ(format_duration(11220), "3 h 07 m");
  EXPECT_EQ(format_duration(2 * 86400 + 4 * 3600), "2 d 04 h");
  EXPECT_EQ(format_duration(-2), "-2.0 s");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "unknown");
}

TEST(Text, FormatsCounts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(25'557'032), "25,557,032");
  EXPECT_EQ(format_count(-1000), "-1,000");
  EXPECT_EQ(format_count(-100), "-100");
}

}  // namespace
}  // namespace paceline::base
