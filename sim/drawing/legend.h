// What the pictures of machines have in common, in the language of Graphviz: links, and the table
// that explains their colours.
#pragma once
#include "sim/core/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

/// Text as a name or a value.
std::string quoted(const std::string& text);

/// How a link is drawn, in Graphviz's words.
struct LinkStyle {
  const char* colour;
  const char* line;  ///< solid, dashed, dotted
  bool operator==(const LinkStyle&) const = default;
};

/// A link between two vertices, by their names as Graphviz reads them. A few parallel ones are so
/// many lines, many are a thick one with their number, which the label follows.
std::string drawn_link(const std::string& first, const std::string& second, LinkStyle style,
                       std::int64_t count, std::string label = "");

/// The sorts of links of a picture, and a table that explains them: a colour for each kind, the
/// same in every picture for the usual kinds, and another line for another bandwidth or latency.
class Legend {
 public:
  /// `by_width`: links of one kind but another bandwidth have another colour too.
  explicit Legend(bool by_width) : by_width_(by_width) {}

  LinkStyle style(const std::string& kind, Bandwidth one, Duration latency);
  /// A vertex that shows the table; `attributes` are added to it.
  std::string vertex(const std::string& attributes) const;

 private:
  struct Row {
    std::string kind;
    double width = 0;  ///< B/s
    Duration latency{};
    std::size_t colour = 0;
    std::size_t line = 0;
    LinkStyle style() const;
  };
  std::size_t new_colour(const std::string& kind) const;
  bool by_width_;
  std::vector<Row> rows_;
};

}  // namespace steptime
