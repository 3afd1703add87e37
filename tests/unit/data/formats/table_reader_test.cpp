#include "paceline/data/formats/table_reader.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using TableCells = std::vector<std::string>;

class TableReaderTest : public ::testing::Test {
 protected:
  /// The columns' names and the rows.
  std::vector<TableCells> read(const std::string& text, const std::string& name = "t.csv") {
    const LocalFile file(folder_.write(name, text));
    TableReader table(file);
    std::vector<TableCells> rows{table.columns()};
    lines_.clear();
    for (TableCells cells; table.next(cells);) {
      rows.push_back(cells);
      lines_.push_back(table.line());
    }
    return rows;
  }

  std::string problem(const std::string& text) {
    try {
      read(text);
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "nothing";
  }

  paceline::test::TempFolder folder_;
  std::vector<std::int64_t> lines_;
};

TEST_F(TableReaderTest, ReadsRowsWhateverTheirLineEndsAre) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    for (const bool has_last_end : {true, false}) {
      const std::string text = "a,b" + end + "1,2" + end + "3," + (has_last_end ? end : "");
      EXPECT_THAT(read(text),
                  ElementsAre(TableCells{"a", "b"}, TableCells{"1", "2"}, TableCells{"3", ""}));
      EXPECT_THAT(lines_, ElementsAre(2, 3));
    }
  }
}

TEST_F(TableReaderTest, QuotesHoldWhatWouldSeparate) {
  EXPECT_THAT(read("a,b\n\"x, \"\"y\"\"\",\"two\r\nlines\"\n,\"\"\n5\" tall,z\n"),
              ElementsAre(TableCells{"a", "b"}, TableCells{"x, \"y\"", "two\r\nlines"},
                          TableCells{"", ""}, TableCells{"5\" tall", "z"}));
  EXPECT_THAT(lines_, ElementsAre(2, 4, 5)) << "a row begins where its first cell does";
}

TEST_F(TableReaderTest, PassesOverAMarkAndEmptyLines) {
  EXPECT_THAT(read("\xEF\xBB\xBF\n\na,b\n\n1,2\n  \n\n3,4\n\n"),
              ElementsAre(TableCells{"a", "b"}, TableCells{"1", "2"}, TableCells{"3", "4"}));
  EXPECT_THAT(lines_, ElementsAre(5, 8));
  EXPECT_THAT(read("\r\n\na;b\n1;2\n"), ElementsAre(TableCells{"a", "b"}, TableCells{"1", "2"}));
}

TEST_F(TableReaderTest, SeparatesAsTheFirstLineDoes) {
  EXPECT_THAT(read("a\tb\n1,5\t2\n"), ElementsAre(TableCells{"a", "b"}, TableCells{"1,5", "2"}));
  EXPECT_THAT(read("a;b\n1,5;2\n"), ElementsAre(TableCells{"a", "b"}, TableCells{"1,5", "2"}));
  EXPECT_THAT(read("a;b,c\n1,2\n"), ElementsAre(TableCells{"a;b", "c"}, TableCells{"1", "2"}));
  EXPECT_THAT(read("a, b\tc\n1\t2\n", "t.TSV"),
              ElementsAre(TableCells{"a, b", "c"}, TableCells{"1", "2"}));
}

TEST_F(TableReaderTest, RowsMayLieAcrossTheEndsOfItsBuffer) {
  std::string text = "a,b\n";
  std::vector<TableCells> expected{{"a", "b"}};
  for (int i = 0; text.size() < 2'500'000; ++i) {
    expected.push_back({std::to_string(i), std::string(static_cast<std::size_t>(i % 97), '\xC3')});
    text += fmt::format("{},\"{}\"\r\n", expected.back()[0], expected.back()[1]);
  }
  EXPECT_EQ(read(text), expected);
}

TEST_F(TableReaderTest, ProblemsNameFileAndLine) {
  EXPECT_THAT(problem(""), AllOf(HasSubstr("t.csv: is empty"), HasSubstr("columns' names")));
  EXPECT_THAT(problem("\n\n"), HasSubstr("t.csv: is empty"));
  EXPECT_THAT(problem("a,b\n1,2\n1,2,3\n"),
              AllOf(HasSubstr("t.csv, line 3: has 3 cells"), HasSubstr("2 columns")));
  EXPECT_THAT(problem("a,b\n1\n"), HasSubstr("line 2: has 1 cells"));
  EXPECT_THAT(problem("a,b\n1,\"2\n3,4\n"), HasSubstr("line 2: a quote is not closed"));
  EXPECT_THAT(problem("a,b\n1,\"2\"3\n"), HasSubstr("line 2: text stands behind a closing quote"));
  EXPECT_THAT(problem("a,b, a\n1,2,3\n"), HasSubstr("line 1: the column 'a' stands there twice"));
  EXPECT_THAT(problem("\xFF\xFE" + std::string("a\0,\0b\0", 6)), HasSubstr("UTF-16"));
  EXPECT_THAT(problem("a,\xC3\n1,2\n"), HasSubstr("line 1: the text is not UTF-8"));
}

TEST_F(TableReaderTest, WhatIsNoTableTakesLittleMemory) {
  EXPECT_THAT(problem("a,b\n1,\"" + std::string(3'000'000, 'x')), HasSubstr("a mebibyte"));
  EXPECT_THAT(problem(std::string(3'000'000, ',')), HasSubstr("a million cells"));
}

TEST_F(TableReaderTest, SeveralColumnsMayHaveNoName) {
  EXPECT_THAT(read(",,a\n1,2,3\n"),
              ElementsAre(TableCells{"", "", "a"}, TableCells{"1", "2", "3"}));
}

}  // namespace
}  // namespace paceline::data
