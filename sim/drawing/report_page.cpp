#include "sim/drawing/report_page.h"

#include "sim/config/data_dir.h"
#include "sim/core/error.h"

#include <filesystem>
#include <string_view>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Of Vega, what marks, scales, axes and tooltips need, as CommonJS: the file, and what other
/// modules call it.
struct Module {
  const char* file;
  const char* name;
};
constexpr Module kModules[] = {{"util", "util"},
                               {"time", "time"},
                               {"format", "format"},
                               {"canvas", "canvas"},
                               {"loader", "loader"},
                               {"scale", "scale"},
                               {"scenegraph", "scenegraph"},
                               {"statistics", "statistics"},
                               {"dataflow", "dataflow"},
                               {"expression", "expression"},
                               {"selection", "selections"},
                               {"functions", "functions"},
                               {"event-selector", "event-selector"},
                               {"parser", "parser"},
                               {"runtime", "runtime"},
                               {"view", "view"},
                               {"transforms", "transforms"},
                               {"view-transforms", "view-transforms"},
                               {"encode", "encode"}};

/// As a script's text: "</script" and "<!--" cannot stand in it.
std::string in_script(std::string json) {
  for (auto at = json.find('<'); at != std::string::npos; at = json.find('<', at))
    json.replace(at, 1, "\\u003c");
  return json;
}

}  // namespace

std::string vega_modules(const std::string& folder) {
  std::string text;
  for (const Module& module : kModules) {
    const std::string path = fmt::format("{}/vega-{}.min.js", folder, module.file);
    if (!std::filesystem::exists(path)) {
      throw MissingError(fmt::format(
          "{} is not there: the page's charts are Vega's; apt-get install libjs-vega", path));
    }
    std::string code = read_file(path);
    // Where a debugger would look for the sources: another file.
    if (const auto map = code.rfind("//# sourceMappingURL="); map != std::string::npos)
      code.resize(map);
    text += fmt::format("\"vega-{}\"(exports,require,module){{{}\n}},\n", module.name, code);
  }
  return text;
}

std::string report_page(const Json& data, const std::string& vega_modules) {
  const auto folder = data_dir() / "plots" / "report";
  const std::string page = read_file((folder / "page.html").string());
  std::string text;
  for (std::size_t at = 0;;) {
    constexpr std::string_view kOpen = "{{";
    constexpr std::string_view kClose = "}}";
    const auto open = page.find(kOpen, at);
    text += page.substr(at, open - at);
    if (open == std::string::npos) return text;
    const auto close = page.find(kClose, open);
    STEPTIME_CHECK(close != std::string::npos, "page.html");
    const auto what = page.substr(open + kOpen.size(), close - open - kOpen.size());
    if (what == "data")
      text += in_script(data.dump());
    else if (what == "vega")
      text += vega_modules;
    else
      text += read_file((folder / what).string());
    at = close + kClose.size();
  }
}

}  // namespace steptime
