#include "paceline/config/parse.h"

#include "paceline/base/file.h"
#include "unit/config/test_recipe.h"

#include <fstream>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::config {
namespace {

using test::error_of;
using testing::HasSubstr;

TEST(ParseYaml, KnowsWhereEverythingIs) {
  const Node node = parse_yaml("# comment\na:\n  b: 1\n  c: [x,\n   y]\nd:\ne: ~\n", "r.yaml");
  EXPECT_EQ(node.find_path("a.b")->position.to_string(), "r.yaml:3");
  EXPECT_EQ(node.find_path("a.c")->items[1].position.to_string(), "r.yaml:5");
  EXPECT_TRUE(node.find("d")->is_null());
  EXPECT_EQ(node.find("d")->position.line, 6);
  EXPECT_TRUE(node.find("e")->is_null());
  EXPECT_EQ(node.entries[0].position.line, 2);
}

TEST(ParseYaml, TellsTextFromOtherScalars) {
  const Node node = parse_yaml("[1, '1', \"null\", null, ~, 'a b', a b]", "r");
  EXPECT_FALSE(node.items[0].is_quoted);
  EXPECT_TRUE(node.items[1].is_quoted);
  EXPECT_TRUE(node.items[2].is_scalar());
  EXPECT_TRUE(node.items[3].is_null());
  EXPECT_TRUE(node.items[4].is_null());
  EXPECT_TRUE(node.items[5].is_quoted);
  EXPECT_EQ(node.items[6].text, "a b");
}

TEST(ParseYaml, TellsAWrittenNullFromNothing) {
  const Node node = parse_yaml("a: null\nb:\nc: ~\nd: {e: null, f: }\nnull_value: 1\ng:", "r.yaml");
  EXPECT_EQ(node.find("a")->text, "null");
  EXPECT_EQ(node.find("b")->text, "");
  EXPECT_EQ(node.find("c")->text, "~");
  EXPECT_EQ(node.find_path("d.e")->text, "null");
  EXPECT_EQ(node.find_path("d.f")->text, "");
  EXPECT_EQ(node.find("g")->text, "");
  for (const char* const key : {"a", "b", "c", "d.e", "d.f", "g"})
    EXPECT_TRUE(node.find_path(key)->is_null()) << key;
}

TEST(ParseYaml, NamesTheLineOfAMistake) {
  EXPECT_EQ(error_of([] { parse_yaml("a: 1\nb: 2\na: 3\n", "r.yaml"); }),
            "r.yaml:3: the key 'a' stands here twice (first in line 1); remove one");
  EXPECT_EQ(error_of([] { parse_yaml("a: 1\n---\nb: 2\n", "r.yaml"); }),
            "r.yaml:2: a second YAML document begins; one file is one recipe");
  EXPECT_EQ(error_of([] { parse_yaml("[a]: 1\n", "r.yaml"); }),
            "r.yaml:1: a key must be plain text");
  EXPECT_EQ(error_of([] { parse_yaml("x: &a {b: 1}\ny:\n  <<: *a\n", "r.yaml"); }),
            "r.yaml:3: '<<' is not understood here; share sections between files with 'extends'");
  EXPECT_EQ(error_of([] { parse_yaml("a: [1, 2\n", "r.yaml"); }),
            "r.yaml:2: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(error_of([] { parse_yaml("a: 1\n b: 2\n", "r.yaml"); }).substr(0, 27),
            "r.yaml:2: not valid YAML: i");
}

TEST(ParseYaml, RefusesTags) {
  for (const char* text : {"a: !!str 5", "a: !!int '5'", "a: !mine {b: 1}", "a: !!seq [1]",
                           "a: !!binary aGk=", "!!map {a: 1}", "a: !!null"}) {
    EXPECT_THAT(error_of([&] { parse_yaml(text, "r.yaml"); }),
                ::testing::StartsWith("r.yaml:1: the tag "))
        << text;
  }
  EXPECT_TRUE(parse_yaml("a: ! 5", "r.yaml").find("a")->is_quoted);
}

TEST(ParseYaml, RefusesACommaOutsideOfBrackets) {
  for (const std::string text : {",", ",1", "[1, 2],", "{a: 1}, b", "'a', b"}) {
    EXPECT_EQ(error_of([&] { parse_yaml("\n" + text, "r.yaml"); }),
              "r.yaml:2: not valid YAML: a comma outside of [] and {}")
        << text;
  }
  EXPECT_EQ(parse_yaml("1, 2", "r.yaml").text, "1, 2");
}

TEST(ParseYaml, PutsAliasesWhereTheyStand) {
  const Node node = parse_yaml("a: &x {b: [1, &y 2]}\nc: *x\nd: *y\n*y : e\n", "r");
  EXPECT_EQ(to_flow_yaml(node), "{a: {b: [1, 2]}, c: {b: [1, 2]}, d: 2, \"2\": e}");
  EXPECT_EQ(node.find("c")->position.line, 2);
}

// What a stranger's recipe can hold. Each ends at once.
TEST(ParseYaml, BombsEndAtABound) {
  EXPECT_EQ(error_of([] { parse_yaml("a: 1\nb: &x [1, *x]\n", "r.yaml"); }),
            "r.yaml:2: this alias (*) stands inside of what it stands for");
  std::string aliases = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i <= 6; ++i) {
    aliases += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n",
                           i, i - 1);
  }
  EXPECT_THAT(error_of([&] { parse_yaml(aliases, "r"); }), HasSubstr("more than 20000 values"));
  std::string chain = "a0: &a0 [1]\n";
  for (int i = 1; i <= 60; ++i) chain += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  EXPECT_THAT(error_of([&] { parse_yaml(chain, "r"); }), HasSubstr("nested more than 40 deep"));
  for (const std::string open : {"[", "{a: ", "- ", "? ", "- ? "}) {
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += open;
    EXPECT_FALSE(error_of([&] { parse_yaml(deep, "r"); }).empty()) << open;
  }
  std::string keys;
  for (int i = 0; i < 60'000; ++i) keys += fmt::format("key{}: 1\n", i);
  EXPECT_EQ(error_of([&] { parse_yaml(keys, "r"); }), "r:1001: a section has more than 1000 keys");
  EXPECT_THAT(error_of([] { parse_yaml(std::string(2'000'000, 'a'), "r"); }),
              HasSubstr("2000000 bytes"));
}

TEST(ParseYaml, TakesUtf8AndNothingElse) {
  EXPECT_EQ(parse_yaml("\xef\xbb\xbf"
                       "a: \u00e4",
                       "r")
                .find("a")
                ->text,
            "\u00e4");
  EXPECT_EQ(error_of([] { parse_yaml("a: 1\nb: \xe4\n", "r.yaml"); }),
            "r.yaml:2: not UTF-8 text (byte \\xe4 at offset 8); save it as UTF-8");
  const std::string nul("a: x\0y", 7);
  EXPECT_THAT(error_of([&] { parse_yaml(nul, "r"); }), HasSubstr("byte \\x00"));
  const std::string utf16(
      "\xff\xfe"
      "a\0:\0 \0"
      "1\0",
      10);
  EXPECT_THAT(error_of([&] { parse_yaml(utf16, "r"); }), HasSubstr("not UTF-8"));
  for (const char* text : {"a: \"\\0\"", "a: \"\\e[2J\"", "\"\\x7f\": 1", "a: \x1b"}) {
    EXPECT_THAT(error_of([&] { parse_yaml(text, "r"); }), HasSubstr("no place in a recipe"))
        << text;
  }
  EXPECT_EQ(parse_yaml("a: \"b\\n\\tc\"", "r").find("a")->text, "b\n\tc");
}

// Random changes of a recipe are a node or one error, never a crash or a hang.
TEST(ParseYaml, MutatedRecipesNeverCrash) {
  const std::string recipe =
      "extends: base.yaml\nrun: {seed: 1, name: \"a b\"}\ntrain:\n  duration: &d 90ep\n"
      "  stop_when: ~\ndata:\n  - path: 'x'\n    sizes: [1, 2.5, .inf]\n  - *d\n# end\n";
  const std::string pieces = "&a*!|>%@`{}[],:?-#'\"\\\n\t ~<=0e.";
  std::mt19937 random(7);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  int num_parsed = 0;
  for (int i = 0; i < 600; ++i) {
    std::string text = recipe;
    for (std::size_t change = 0; change <= below(6); ++change) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = pieces[below(pieces.size())];
          break;
        case 1:
          text.insert(at, 1 + below(3), pieces[below(pieces.size())]);
          break;
        case 2:
          text.erase(at, 1 + below(8));
          break;
        default:
          text.insert(at, text.substr(below(text.size()), below(40)));
      }
    }
    try {
      const Node node = parse_yaml(text, "r");
      EXPECT_TRUE(same_value(parse_yaml(to_yaml(node), "r"), node)) << text;
      ++num_parsed;
    } catch (const base::ConfigError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(num_parsed, 20);
}

TEST(ParseJson, SkipsCommentsAndKeepsLines) {
  const Node node = parse_json(R"({
  // one line
  "a": "x // no comment", /* two
  lines */ "b": [1, 2],
	"c": {"d": null}
})",
                               "r.json");
  EXPECT_EQ(node.find("a")->text, "x // no comment");
  EXPECT_EQ(node.find("b")->position.to_string(), "r.json:4");
  EXPECT_EQ(node.find_path("c.d")->kind, NodeKind::kNull);
  EXPECT_EQ(parse_json("{\"a\": \"q\\\"//\"}", "r").find("a")->text, "q\"//");
}

TEST(ParseValue, TakesFlowYaml) {
  EXPECT_EQ(parse_value("0.1", "c").text, "0.1");
  EXPECT_TRUE(parse_value("", "c").is_null());
  EXPECT_EQ(parse_value("[1, 2]", "c").items.size(), 2u);
  EXPECT_EQ(parse_value("{a: 1}", "c").find("a")->position.to_string(), "c");
  EXPECT_EQ(error_of([] { parse_value("[1", "command line: a=[1"); }),
            "command line: a=[1: not valid YAML: end of sequence flow not found");
}

TEST(ParseFile, ChoosesByTheExtension) {
  const base::TempDir folder;
  base::RealFileSystem files;
  base::write_file_atomically(files, folder.path() / "a.jsonc", "{\"a\": 1} // x");
  base::write_file_atomically(files, folder.path() / "a.yaml", "");
  base::write_file_atomically(files, folder.path() / "b.yaml", "[1]");
  EXPECT_EQ(parse_file(folder.path() / "a.jsonc").find("a")->text, "1");
  EXPECT_TRUE(parse_file(folder.path() / "a.yaml").is_map());
  EXPECT_EQ(error_of([&] { parse_file(folder.path() / "b.yaml"); }),
            (folder.path() / "b.yaml").string() +
                ": not a recipe, which is a map of sections, such as train: {duration: 3ep}: this "
                "is a list");
  EXPECT_EQ(error_of([&] { parse_file(folder.path() / "none.yaml"); }),
            "cannot read " + (folder.path() / "none.yaml").string() +
                ": No such file or directory; check the spelling of the path");
}

}  // namespace
}  // namespace paceline::config
