#include "sim/collective/path.h"

#include <fmt/format.h>

namespace steptime {

std::string path_text(const CollectivePath& path) {
  std::string text = path.links;
  if (path.adapters > 0) {
    text += fmt::format("{}{} adapter{} a node", text.empty() ? "" : ", ", path.adapters,
                        path.adapters == 1 ? "" : "s");
  }
  if (!path.rules.empty()) text += fmt::format("{}({})", text.empty() ? "" : " ", path.rules);
  return text;
}

}  // namespace steptime
