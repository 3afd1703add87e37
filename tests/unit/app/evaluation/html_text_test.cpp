#include "paceline/app/evaluation/html_text.h"

#include <gtest/gtest.h>

namespace paceline::app {
namespace {

TEST(HtmlText, NothingInItIsMarkup) {
  EXPECT_EQ(escape_html("<script>a & b</script> \"x\" 'y'"),
            "&lt;script&gt;a &amp; b&lt;/script&gt; &quot;x&quot; &#39;y&#39;");
  EXPECT_EQ(escape_html("Käse"), "Käse");
}

TEST(HtmlText, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(escape_html("a\xFF<\x80z"), "a\xEF\xBF\xBD&lt;\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace paceline::app
