#include "sim/drawing/report_page.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <cstddef>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

/// Each module is a comment with its name.
void write_modules(const TinyFolder& folder) {
  for (const char* name :
       {"util", "time", "format", "canvas", "loader", "scale", "scenegraph", "statistics",
        "dataflow", "expression", "selection", "functions", "event-selector", "parser", "runtime",
        "view", "transforms", "view-transforms", "encode"}) {
    folder.write(std::string("vega-") + name + ".min.js",
                 std::string("/*") + name + "*/\n//# sourceMappingURL=x.map");
  }
}

TEST(ReportPage, HoldsItsDataAndVegaAndNothingOfAnotherFile) {
  const TinyFolder folder;
  write_modules(folder);
  const std::string page =
      report_page(Json{{"name", "</script><!-- \u00e9"}}, vega_modules(folder.path(".")));
  EXPECT_EQ(page.substr(0, 15), "<!doctype html>");
  // A name cannot end the script that it stands in.
  EXPECT_NE(page.find("{\"name\":\"\\u003c/script>\\u003c!-- \u00e9\"}"), std::string::npos);
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
  EXPECT_NE(page.find("\"vega-selections\"(exports,require,module){/*selection*/"),
            std::string::npos);
  EXPECT_EQ(page.find("sourceMappingURL"), std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos);
  for (const char* elsewhere : {"src=", "http:", "https:", "@import", "url("})
    EXPECT_EQ(page.find(elsewhere), std::string::npos) << elsewhere;
}

TEST(ReportPage, SaysHowToGetVega) {
  const TinyFolder folder;
  EXPECT_EQ(message_of<MissingError>([&] { vega_modules(folder.path(".")); }),
            folder.path(".") +
                "/vega-util.min.js is not there: the page's charts are Vega's; apt-get install "
                "libjs-vega");
}

}  // namespace
}  // namespace steptime
