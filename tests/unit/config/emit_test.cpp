#include "paceline/config/node.h"
#include "paceline/config/parse.h"

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

Node text(std::string value) { return Node::scalar(std::move(value), true); }

TEST(Emit, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(to_yaml_scalar(text("resnet50")), "resnet50");
  EXPECT_EQ(to_yaml_scalar(text("/data/imagenet-1k")), "/data/imagenet-1k");
  EXPECT_EQ(to_yaml_scalar(text("val/top1 >= 0.78")), "val/top1 >= 0.78");
  EXPECT_EQ(to_yaml_scalar(text("hf:timm/vit")), "hf:timm/vit");
  EXPECT_EQ(to_yaml_scalar(text("1e5")), "\"1e5\"");
  EXPECT_EQ(to_yaml_scalar(text("Null")), "\"Null\"");
  EXPECT_EQ(to_yaml_scalar(text("yes")), "\"yes\"");
  EXPECT_EQ(to_yaml_scalar(text("")), "\"\"");
  EXPECT_EQ(to_yaml_scalar(text("-x")), "\"-x\"");
  EXPECT_EQ(to_yaml_scalar(text("a: b")), "\"a: b\"");
  EXPECT_EQ(to_yaml_scalar(text("a #b")), "\"a #b\"");
  EXPECT_EQ(to_yaml_scalar(text("say \"hi\"\n\\")), "\"say \\\"hi\\\"\\n\\\\\"");
  EXPECT_EQ(to_yaml_scalar(Node::scalar("0.1")), "0.1");
}

TEST(Emit, EveryTextSurvives) {
  for (const char* value :
       {"",     " ",    "a",     "a b",  " a",         "a ",   "a:",    ":a",      "a: b",
        "a #b", "#a",   "~",     "null", "true",       "1",    "-",     "- a",     "a,b",
        "[a]",  "{a}",  "*a",    "&a",   "!a",         "|",    ">",     "%a",      "@a",
        "`a",   "'a'",  "\"a\"", "a\nb", "a\tb",       "?",    "a\\b",  "é",       "=",
        "<<",   "0x10", ".5",    "a>=b", "2026-01-01", "1:30", "a : b", "$HOME/~x"}) {
    Node node = Node::map();
    node.set("k", text(value));
    node.set("list", Node::list({text(value), text(value)}));
    node.set(*value != '\0' ? value : "x", Node::scalar("1"));
    for (const std::string& yaml : {to_yaml(node), to_flow_yaml(node)}) {
      const Node again = parse_yaml(yaml, "r");
      ASSERT_TRUE(same_value(node, again)) << yaml;
      EXPECT_TRUE(again.find("k")->is_scalar()) << yaml;
    }
  }
}

TEST(Emit, TextThatWasBareInABlockSurvives) {
  const Node node = parse_yaml("- a, b\n- '1'\n- /x/{y,z}\n- c\n\n  d\n- 1e-3", "r");
  EXPECT_EQ(to_flow_yaml(node), "[\"a, b\", \"1\", \"/x/{y,z}\", \"c\\nd\", 1e-3]");
  EXPECT_TRUE(same_value(parse_yaml(to_yaml(node), "r"), node));
}

TEST(Emit, BlockStyleIsWhatAPersonWouldWrite) {
  const Node node = parse_yaml("{a: {b: [1, 2], c: {}}, d: [{name: x, k: 1}, z], e: , f: []}", "r");
  const std::string expected = R"(a:
  b: [1, 2]
  c: {}
d:
  - name: x
    k: 1
  - z
e: null
f: []
)";
  EXPECT_EQ(to_yaml(node), expected);
  EXPECT_TRUE(same_value(parse_yaml(expected, "r"), node));
}

TEST(Emit, JsonKeepsTypes) {
  EXPECT_EQ(to_json(parse_yaml("{a: 1, b: '1', c: [true, null, 1e-4], d: 90ep}", "r")),
            R"({"a":1,"b":"1","c":[true,null,0.0001],"d":"90ep"})");
}

}  // namespace
}  // namespace paceline::config
