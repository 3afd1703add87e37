#include "paceline/config/parse.h"

#include "paceline/base/file.h"
#include "unit/config/test_recipe.h"

#include <fstream>

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

using test::error_of;

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

TEST(ParseYaml, RefusesACommaOutsideOfBrackets) {
  for (const std::string text : {",", ",1", "[1, 2],", "{a: 1}, b", "'a', b"}) {
    EXPECT_EQ(error_of([&] { parse_yaml("\n" + text, "r.yaml"); }),
              "r.yaml:2: not valid YAML: a comma outside of [] and {}")
        << text;
  }
  EXPECT_EQ(parse_yaml("1, 2", "r.yaml").text, "1, 2");
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
  EXPECT_EQ(
      error_of([&] { parse_file(folder.path() / "b.yaml"); }),
      (folder.path() / "b.yaml:1").string() + ": a recipe is a map of sections, got the list [1]");
  EXPECT_EQ(error_of([&] { parse_file(folder.path() / "none.yaml"); }),
            "cannot read " + (folder.path() / "none.yaml").string() +
                ": No such file or directory; check the spelling of the path");
}

}  // namespace
}  // namespace paceline::config
