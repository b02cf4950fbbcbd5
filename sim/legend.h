// What the pictures of machines have in common, in the language of Graphviz: links, and the table
// that explains their colours.
#pragma once
#include "sim/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

/// Text as a name or a value.
std::string quoted(const std::string& text);

/// A link between two vertices, by their names as Graphviz reads them. A few parallel ones are so
/// many lines, many are a thick one with their number.
std::string drawn_link(const std::string& first, const std::string& second, const char* colour,
                       std::int64_t count);

/// The kinds of links of a picture: a colour for each, and a table that explains them.
class Legend {
 public:
  /// `by_width`: links of one kind but another bandwidth have another colour too.
  explicit Legend(bool by_width) : by_width_(by_width) {}

  const char* colour(const std::string& kind, Bandwidth one, Duration latency);
  /// A vertex that shows the table; `attributes` are added to it.
  std::string vertex(const std::string& attributes) const;

 private:
  struct Row {
    std::string kind;
    double width = 0;  ///< B/s
    Duration latency{};
    std::size_t colour = 0;
    bool operator==(const Row&) const = default;
  };
  bool by_width_;
  std::vector<Row> rows_;
  std::size_t colours_ = 0;
};

}  // namespace steptime
