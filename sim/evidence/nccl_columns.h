// The columns of a table of nccl-tests, and of programs that print the same: where the time of a
// row stands, in which unit, and whether a row is one.
#pragma once
#include "sim/config/text_lines.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

class NcclColumns {
 public:
  NcclColumns() = default;
  /// The columns of "#   size   count  type  redop  root   time ...", of old "#   bytes  N  type op
  /// time", or of "size(B) count(elems) type time(us) ...". The mark may have been lost where a
  /// text was pasted.
  explicit NcclColumns(std::string_view head);

  /// The line is no such head.
  bool empty() const { return names_.empty(); }
  bool operator==(const NcclColumns&) const = default;

  bool has_sum() const;
  /// Where the time stands in a row of these words. Old versions leave the kind of sum blank where
  /// nothing is added up.
  std::size_t time_column(const std::vector<std::string_view>& words) const;
  /// As the head says; of versions before 2, which name no units, milliseconds.
  double time_unit_us() const;
  /// Whether the words, whose first one is no number of bytes, are meant as a row.
  bool looks_like_row(const std::vector<std::string_view>& words) const;
  /// Refuses a row, `said`, whose values the benchmark found wrong, and one whose time is blank, so
  /// that what stands at `column` is the bandwidth behind it: there are too few words, and the
  /// bytes do not take that long at the bandwidth that is said.
  void check_row(const TextLine& line, std::string_view said,
                 const std::vector<std::string_view>& words, std::size_t column) const;

 private:
  /// The place of the first column whose name begins so; behind the last: there is none.
  std::size_t place(std::string_view name) const;

  std::vector<std::string> names_;  ///< in lower case
};

}  // namespace steptime
