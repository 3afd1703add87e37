#include "paceline/config/node.h"

#include "paceline/base/error.h"
#include "paceline/config/parse.h"

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

TEST(Node, FindsSetsAndErases) {
  Node node = parse_yaml("a: {b: {c: 1}}\nd: 2", "r");
  EXPECT_EQ(node.find_path("a.b.c")->text, "1");
  EXPECT_EQ(node.find_path("a.x.c"), nullptr);
  EXPECT_EQ(node.find_path("d.x"), nullptr);
  EXPECT_EQ(node.find_path(""), &node);
  node.set("a", Node::scalar("3"));
  node.set("e", Node::list());
  EXPECT_EQ(to_flow_yaml(node), "{a: 3, d: 2, e: []}");
  EXPECT_TRUE(node.erase("d"));
  EXPECT_FALSE(node.erase("d"));
  Node scalar = Node::scalar("1");
  EXPECT_THROW(scalar.set("a", {}), base::InternalError);
}

TEST(Node, ComparesValuesInAnyOrderOfKeys) {
  const auto same = [](const char* left, const char* right) {
    return same_value(parse_yaml(left, "l"), parse_yaml(right, "r"));
  };
  EXPECT_TRUE(same("{a: 1, b: [2, {c: 3}]}", "{b: [2, {c: 3}], a: 1}"));
  EXPECT_FALSE(same("{a: 1}", "{a: 2}"));
  EXPECT_FALSE(same("{a: 1}", "{a: 1, b: 2}"));
  EXPECT_FALSE(same("[1, 2]", "[2, 1]"));
  EXPECT_FALSE(same("[1]", "1"));
  EXPECT_TRUE(same("~", "null"));
  EXPECT_TRUE(same("1e-08", "1.0e-08"));
  EXPECT_FALSE(same("1e-08", "1e-07"));
  EXPECT_FALSE(same("1e-08", "1e-08x"));
  EXPECT_FALSE(same("12345678901234567890", "12345678901234567891")) << "seeds are no doubles";
  EXPECT_FALSE(same("1.10", "1.1")) << "it may be a name";
}

TEST(Node, DescribesItselfBriefly) {
  EXPECT_EQ(Node{}.describe(), "null");
  EXPECT_EQ(Node::scalar("x").describe(), "'x'");
  EXPECT_EQ(Node::scalar("1", true).describe(), "the text '1'");
  EXPECT_EQ(parse_yaml("{a: [1, 2]}", "r").describe(), "the map {a: [1, 2]}");
  const Node long_list = Node::list({Node::scalar(std::string(100, 'x'))});
  EXPECT_EQ(long_list.describe(), "the list [" + std::string(59, 'x') + "...");
}

TEST(Node, PositionsReadWell) {
  EXPECT_EQ((Position{"r.yaml", 3}).to_string(), "r.yaml:3");
  EXPECT_EQ((Position{"command line: a=1", 0}).to_string(), "command line: a=1");
  EXPECT_EQ(join_path("", "a"), "a");
  EXPECT_EQ(join_path("a", "b"), "a.b");
}

}  // namespace
}  // namespace paceline::config
