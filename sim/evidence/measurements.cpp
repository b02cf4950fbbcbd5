#include "sim/evidence/measurements.h"

#include "sim/config/json.h"
#include "sim/config/text_lines.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr double kMostMicroseconds = 1e12;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = trimmed(line)).empty()) {
    words.push_back(line.substr(0, line.find_first_of(" \t")));
    line.remove_prefix(words.back().size());
  }
  return words;
}

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : file_(file), text_(text), lines_(text_lines(file, text)) {}

  std::vector<Measurement> read() {
    const auto first = text_.find_first_not_of(" \t\r\n");
    if (first != text_.npos && (text_[first] == '{' || text_[first] == '[')) {
      json();
    } else {
      const bool osu = std::any_of(lines_.begin(), lines_.end(), [](const TextLine& line) {
        return line.text().find("# OSU") != std::string_view::npos;
      });
      const bool nccl = std::any_of(lines_.begin(), lines_.end(), is_nccl_head);
      if (osu)
        this->osu();
      else if (nccl)
        nccl_tests();
      else
        csv();
    }
    if (rows_.empty()) throw InputError(file_ + ": no measurement found");
    return std::move(rows_);
  }

 private:
  void add(const TextLine& line, std::string_view size, std::string_view time, double unit_us) {
    const auto bytes = number_in<std::int64_t>(size);
    if (!bytes || *bytes < 0) line.fail("a number of bytes", size);
    const auto value = number_in<double>(time);
    if (!value || !(*value > 0) || *value * unit_us > kMostMicroseconds) {
      line.fail("a positive time", time);
    }
    rows_.push_back({*bytes, *value * unit_us});
  }

  /// "#   size   count  type  redop  root   time ..." or, of old, "#   bytes  N  type  op  time".
  static bool is_nccl_head(const TextLine& line) {
    if (!line.is_comment()) return false;
    const auto words = words_of(line.text().substr(1));
    return !words.empty() && (words[0] == "size" || words[0] == "bytes") &&
           std::find(words.begin(), words.end(), "time") != words.end();
  }

  void nccl_tests() {
    std::size_t column = 0;
    double unit_us = 1;
    for (const TextLine& line : lines_) {
      if (is_nccl_head(line)) {
        const auto words = words_of(line.text().substr(1));
        column =
            static_cast<std::size_t>(std::find(words.begin(), words.end(), "time") - words.begin());
        // Versions before 2 name no units; theirs are milliseconds.
        unit_us = words[0] == "bytes" ? 1000 : 1;
        continue;
      }
      const auto words = words_of(line.text());
      if (column == 0 || !number_in<std::int64_t>(words[0])) continue;
      if (words.size() <= column) {
        line.fail(fmt::format("at least {} columns", column + 1));
      }
      add(line, words[0], words[column], unit_us);
    }
  }

  void osu() {
    for (const TextLine& line : lines_) {
      if (line.is_comment()) continue;
      const auto words = words_of(line.text());
      // Some builds put the number of ranks in front: "2,1024".
      const std::string_view size = words[0].substr(words[0].rfind(',') + 1);
      if (!number_in<std::int64_t>(size)) continue;
      if (words.size() < 2) line.fail("a size and a latency");
      add(line, size, words[1], 1);
    }
  }

  /// Microseconds per unit of the time column of this name; 0 when it is none.
  static double time_unit(const std::string& name) {
    for (const char* what : {"time", "latency"}) {
      for (const auto& [unit, us] : {std::pair{"ns", 1e-3}, {"us", 1.0}, {"ms", 1e3}, {"s", 1e6}}) {
        if (name == fmt::format("{}_{}", what, unit) || name == fmt::format("{}({})", what, unit))
          return us;
      }
    }
    return 0;
  }

  void csv() {
    std::optional<std::size_t> size_column;
    std::optional<std::size_t> time_column;
    double unit_us = 0;
    for (const TextLine& line : lines_) {
      if (line.is_comment()) continue;
      const std::vector<std::string> cells = line.cells();
      if (!size_column) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
          const std::string name = lower(trimmed(cells[i]));
          if (!size_column && (name == "bytes" || name == "size" || name == "size(b)"))
            size_column = i;
          if (!time_column && time_unit(name) > 0) {
            time_column = i;
            unit_us = time_unit(name);
          }
        }
        if (!size_column || !time_column) {
          line.fail(
              "output of nccl-tests or of OSU, or CSV with a header that names a size and a time "
              "(\"bytes,time_us\")");
        }
        continue;
      }
      if (cells.size() <= std::max(*size_column, *time_column)) {
        line.fail(fmt::format("at least {} columns", std::max(*size_column, *time_column) + 1));
      }
      add(line, cells[*size_column], cells[*time_column], unit_us);
    }
  }

  [[noreturn]] void fail_at(const std::string& pointer, const char* expected,
                            const Json& got) const {
    throw InputError(fmt::format("{}: {}: expected {}, got {}", file_,
                                 pointer.empty() ? "/" : pointer, expected, brief(got)));
  }

  void add(const std::string& pointer, const Json& row, const char* size_key, const Json& time,
           const std::string& time_pointer) {
    const auto size = row.find(size_key);
    if (size == row.end() || !size->is_number_integer() || *size < 0 ||
        size->get<double>() > 9e18) {
      fail_at(pointer + "/" + size_key, "a number of bytes", size == row.end() ? Json() : *size);
    }
    if (!time.is_number() || !(time.get<double>() > 0) || time.get<double>() > kMostMicroseconds) {
      fail_at(time_pointer, "a positive time", time);
    }
    rows_.push_back({size->get<std::int64_t>(), time.get<double>()});
  }

  /// The file that nccl-tests -J writes, or a list of {"bytes", "time_us"}.
  void json() {
    const Json root = parse_json(text_, file_);
    const bool nccl = root.is_object();
    if (nccl && (!root.contains("results") || !root["results"].is_array())) {
      fail_at("/results", "the list of results of nccl-tests", root.value("results", Json()));
    }
    const Json& list = nccl ? root["results"] : root;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string pointer = fmt::format("{}/{}", nccl ? "/results" : "", i);
      const Json& row = list[i];
      if (!row.is_object()) fail_at(pointer, "an object", row);
      if (!nccl) {
        add(pointer, row, "bytes", row.value("time_us", Json()), pointer + "/time_us");
        continue;
      }
      // One of the two is null when only the other was measured.
      const Json out = row.value("out_of_place", Json());
      const char* key = out.is_object() ? "out_of_place" : "in_place";
      const Json place = out.is_object() ? out : row.value("in_place", Json());
      if (!place.is_object()) fail_at(pointer + "/out_of_place", "an object", place);
      add(pointer, row, "size", place.value("time", Json()),
          fmt::format("{}/{}/time", pointer, key));
    }
  }

  const std::string& file_;
  std::string_view text_;
  std::vector<TextLine> lines_;
  std::vector<Measurement> rows_;
};

}  // namespace

std::vector<Measurement> parse_measurements(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

std::vector<Measurement> read_measurements(const std::string& path) {
  return parse_measurements(read_file(path), path);
}

}  // namespace steptime
