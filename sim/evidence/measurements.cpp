#include "sim/evidence/measurements.h"

#include "sim/config/json.h"
#include "sim/config/text_lines.h"
#include "sim/core/error.h"
#include "sim/evidence/benchmark_words.h"
#include "sim/evidence/launcher_prefix.h"
#include "sim/evidence/nccl_columns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr double kLeastMicroseconds = 1e-6;  // simulated time counts in ps
constexpr double kMostMicroseconds = 1e12;

enum class TableKind { kNone, kNccl, kTimes };

/// What has been said of a run before its first row.
struct Preamble {
  std::string operation;
  std::int64_t tasks = 0;  ///< processes that the command starts
  std::int64_t last_rank = -1;
  std::int64_t listed = 0;       ///< devices; a paste may begin in the middle of them
  std::int64_t first_ranks = 0;  ///< how many programs call themselves rank 0
  std::set<std::string, std::less<>> hosts;

  std::int64_t ranks() const { return last_rank >= 0 ? last_rank + 1 : tasks; }
  std::int64_t nodes() const {
    return listed == last_rank + 1 ? static_cast<std::int64_t>(hosts.size()) : 0;
  }
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : file_(file), text_(text), lines_(text_lines(file, text)) {}

  std::vector<MeasuredTable> read() {
    const auto first = text_.find_first_not_of(" \t\r\n");
    bool is_json = first != text_.npos && (text_[first] == '{' || text_[first] == '[');
    if (is_json) {  // "[1,0]<stdout>:" begins like a list
      const std::string_view line = trimmed(lines_.front().text());
      const std::string_view said = without_launcher_prefix(line);
      is_json = said.empty() || said == line;
    }
    if (is_json) {
      tables_.emplace_back();
      json();
    } else if (std::any_of(lines_.begin(), lines_.end(), [](const TextLine& line) {
                 const std::string_view said = without_launcher_prefix(line.text());
                 return is_osu_title(said) || !NcclColumns(said).empty();
               })) {
      benchmarks();
    } else {
      tables_.emplace_back();
      csv();
    }
    std::erase_if(tables_, [](const MeasuredTable& table) { return table.rows.empty(); });
    if (tables_.empty()) throw InputError(file_ + ": no measurement found");
    return std::move(tables_);
  }

 private:
  static bool is_time(double microseconds) {
    return microseconds >= kLeastMicroseconds && microseconds <= kMostMicroseconds;
  }
  static const char* time_expected(double got) {
    return got > 0 && std::isfinite(got) ? "a time of 1 ps to 1e+06 s" : "a positive time";
  }

  void add(const TextLine& line, std::string_view size, std::string_view time, double unit_us) {
    const auto bytes = number_in<std::int64_t>(size);
    if (!bytes || *bytes < 0) line.fail("a number of bytes", size);
    const auto value = number_in<double>(time);
    if (!value || !is_time(*value * unit_us)) line.fail(time_expected(value.value_or(0)), time);
    tables_.back().rows.push_back({*bytes, *value * unit_us});
  }

  /// "# OSU MPI-CUDA Allreduce Latency Test v7.3".
  static bool is_osu_title(std::string_view line) {
    return line.starts_with("# OSU") ||
           (line.starts_with("OSU MPI") && line.find(" Test") != line.npos);
  }

  /// What is said from here on is about the next table. Rows may still come: a log may name the
  /// program in between.
  void begin_run() {
    if (!is_next_) preamble_ = {};
    is_next_ = true;
  }

  /// The program and how many processes it is started with, of the command of a shell or the title
  /// of a run: "mpirun -np 16 ... all_reduce_perf -g 1".
  void hear_command(const std::vector<std::string_view>& words) {
    std::int64_t tasks = 0;
    std::int64_t each = 1;
    bool starts_tasks = false;
    std::string operation;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view name = words[i].substr(words[i].find_last_of('/') + 1);
      const auto perf = name.find("_perf");
      if (operation.empty() && (perf != name.npos || name.starts_with("osu_"))) {
        operation = perf != name.npos ? named_operation(name.substr(0, perf))
                                      : named_operation(name.substr(4));
        continue;
      }
      if (name.starts_with("mpirun") || name.starts_with("mpiexec") || name == "srun")
        starts_tasks = true;
      const auto value = i + 1 < words.size() ? number_in<std::int64_t>(words[i + 1])
                                              : std::optional<std::int64_t>();
      if (!value || *value <= 0 || *value > 1'000'000) continue;
      if (operation.empty() && (words[i] == "-np" || words[i] == "--np" || words[i] == "-n"))
        tasks = *value;
      if (!operation.empty() && (words[i] == "-g" || words[i] == "-t")) each *= *value;
    }
    if (operation.empty()) return;
    is_next_ = false;
    begin_run();
    preamble_.operation = operation;
    preamble_.tasks = starts_tasks ? tasks * each : 0;
  }

  /// "alltoall result", as scripts write above what a program prints.
  bool hear_title(const std::vector<std::string_view>& words) {
    const std::string last = lower(words.back());
    if (words.size() != 2 || (last != "result" && last != "results" && last != "result:"))
      return false;
    begin_run();
    preamble_.operation = named_operation(words[0]);
    return true;
  }

  /// "Rank  0 Group  0 Pid   6899 on HOST device  0 [0x04] NAME".
  bool hear_device(std::vector<std::string_view> words) {
    if (!words.empty() && words[0] == "#") words.erase(words.begin());
    if (words.size() < 6 || words[0] != "Rank") return false;
    const auto rank = number_in<std::int64_t>(words[1]);
    const auto on = std::find(words.begin(), words.end(), "on");
    if (!rank || *rank < 0 || *rank > 1'000'000'000 || on + 1 >= words.end()) return false;
    begin_run();
    preamble_.last_rank = std::max(preamble_.last_rank, *rank);
    if (*rank == 0) ++preamble_.first_ranks;
    ++preamble_.listed;
    preamble_.hosts.emplace(*(on + 1));
    return true;
  }

  void begin_table(const TextLine& line, TableKind kind) {
    if (preamble_.first_ranks > 1) {
      line.fail(fmt::format("one run of all ranks, got {} that know nothing of each other "
                            "(nccl-tests are built with MPI=1 for several processes)",
                            preamble_.first_ranks),
                trimmed(line.text()));
    }
    kind_ = kind;
    osu_unit_us_ = 1;
    is_next_ = false;
    tables_.push_back(
        {.operation = preamble_.operation, .ranks = preamble_.ranks(), .nodes = preamble_.nodes()});
  }

  void benchmarks() {
    for (const TextLine& line : lines_) {
      const std::string_view said = without_launcher_prefix(line.text());
      const auto words = words_of(said);
      if (words.empty()) continue;
      if (is_osu_title(said)) {
        osu_title(line, said);
      } else if (NcclColumns columns(said); !columns.empty()) {
        // Again in front of every page of an old version's.
        if (kind_ == TableKind::kNccl && columns == columns_ && !is_next_ &&
            tables_.back().rows.empty())
          continue;
        begin_table(line, TableKind::kNccl);
        columns_ = std::move(columns);
        row_kind_.clear();
      } else if (hear_device(words)) {
        continue;
      } else if (said.find("Collective test starting:") != said.npos) {
        begin_run();
        preamble_.operation = named_operation(words.back().substr(0, words.back().find("_perf")));
      } else if (said.find("Out of bounds values :") != said.npos && words.back() == "FAILED") {
        line.fail("results that the benchmark itself found right", said);
      } else if (kind_ == TableKind::kNccl) {
        nccl_row(line, said, words);
      } else if (kind_ == TableKind::kTimes) {
        osu_row(line, said, words);
      }
      if (said.starts_with('#') || hear_title(words)) continue;
      // A command may go over several lines of a shell.
      command_.insert(command_.end(), words.begin(), words.end());
      if (words.back() == "\\") continue;
      hear_command(command_);
      command_.clear();
    }
  }

  void nccl_row(const TextLine& line, std::string_view said, std::vector<std::string_view> words) {
    const auto bytes = number_in<std::int64_t>(words[0]);
    if (!bytes && columns_.looks_like_row(words)) line.fail("a number of bytes", words[0]);
    if (!bytes || (words.size() > 1 && !number_in<std::int64_t>(words[1]))) return;
    // Of each flush of its output, MPICH labels the first character: "sum      -1[0]    75.38".
    const std::string unlabelled = without_labels(said);
    words = words_of(unlabelled);
    const std::size_t column = columns_.time_column(words);
    if (words.size() <= column) line.fail(fmt::format("at least {} columns", column + 1));
    if (!number_in<double>(words[column])) line.fail("a row that is not cut by another line", said);
    columns_.check_row(line, said, words, column);
    if (*bytes == 0) return;  // less than one element a rank: nothing is sent
    std::string kind;         // type and sum
    for (std::size_t i = 2; i < column && i < 4; ++i)
      kind += fmt::format("{}{}", i == 2 ? "" : " ", words[i]);
    MeasuredTable& table = tables_.back();
    if (row_kind_.empty()) {
      row_kind_ = kind;
      if (columns_.has_sum()) table.reduces = column > 3 && words[3] != "none";
    }
    if (kind != row_kind_) line.fail(fmt::format("rows of one type and sum ({})", row_kind_), said);
    check_interleaving(line, *bytes);
    add(line, words[0], words[column], columns_.time_unit_us());
  }

  /// Of two runs at once rows come in turn: 128, 256, 8, 512, 16, 1024, ...
  void check_interleaving(const TextLine& line, std::int64_t bytes) {
    const std::vector<Measurement>& rows = tables_.back().rows;
    if (rows.size() < 2) return;
    const std::int64_t before = rows[rows.size() - 2].bytes;
    const std::int64_t last = rows.back().bytes;
    if (before > last && bytes > before && rows.front().bytes < before)
      line.fail("sizes in the order of one run",
                fmt::format("{} B after {} and {}", bytes, before, last));
  }

  /// Tables of bandwidths and of what takes no size are no times of sizes.
  void osu_title(const TextLine& line, std::string_view said) {
    begin_run();
    const auto begin = said.find("MPI");
    const auto name = begin == said.npos ? begin : said.find(' ', begin);
    const auto end = said.find(" Latency Test");
    if (end != said.npos && name != said.npos && name <= end)
      preamble_.operation = named_operation(said.substr(name, end - name));
    const bool is_bandwidth =
        end == said.npos && (said.find(" Test") != said.npos || said.find("Rate") != said.npos);
    const bool has_no_size = preamble_.operation == "barrier" || preamble_.operation == "init";
    begin_table(line, is_bandwidth || has_no_size ? TableKind::kNone : TableKind::kTimes);
  }

  void osu_row(const TextLine& line, std::string_view said,
               const std::vector<std::string_view>& words) {
    if (said.starts_with('#')) return osu_columns(line, said);
    // Some builds put the number of ranks in front: "2,1024".
    const auto comma = words[0].rfind(',');
    const std::string_view size = words[0].substr(comma == words[0].npos ? 0 : comma + 1);
    if (!number_in<std::int64_t>(size)) {
      if (words.size() > 1 && looks_like_number(size) && number_in<double>(words[1]))
        line.fail("a number of bytes", size);
      return;
    }
    if (words.size() < 2) line.fail("a size and a latency", said);
    if (comma != words[0].npos && tables_.back().ranks == 0)
      tables_.back().ranks = number_in<std::int64_t>(words[0].substr(0, comma)).value_or(0);
    add(line, size, words[1], osu_unit_us_);
  }

  /// "# Size       Avg Latency(us)   Min Latency(us)": the first of them is what is read.
  void osu_columns(const TextLine& line, std::string_view said) {
    const std::string names = lower(said);
    const auto size = names.find("size");
    if (size == names.npos || names.find_first_not_of("# \t") != size) return;
    std::string name = names.substr(size + 4);
    name = name.substr(0, name.find(')') == name.npos ? name.npos : name.find(')') + 1);
    std::erase_if(name, [](char c) { return c == ' ' || c == '\t'; });
    if (name.find('(') == name.npos) return;
    if (name.starts_with("avg")) name.erase(0, 3);
    osu_unit_us_ = time_unit(name);
    if (osu_unit_us_ == 0) line.fail("a latency in ns, us, ms or s in the second column", said);
  }

  struct CsvColumns {
    std::size_t size = kNoColumn;
    std::size_t time = kNoColumn;
    double unit_us = 0;
    bool are_found() const { return size != kNoColumn && time != kNoColumn; }
  };
  static constexpr std::size_t kNoColumn = ~std::size_t{0};

  static CsvColumns csv_columns(const std::vector<std::string>& cells) {
    CsvColumns columns;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::string name = lower(cells[i]);
      std::erase(name, ' ');
      if (columns.size == kNoColumn &&
          (name == "bytes" || name == "size" || name == "size(b)" || name == "size(bytes)"))
        columns.size = i;
      if (columns.time == kNoColumn && time_unit(name) > 0) {
        columns.time = i;
        columns.unit_us = time_unit(name);
      }
    }
    return columns;
  }

  void csv() {
    CsvColumns columns;
    const TextLine* first = nullptr;
    for (const TextLine& line : lines_) {
      if (line.is_comment()) continue;
      const std::vector<std::string> cells = line.cells();
      if (!columns.are_found()) {
        if (first == nullptr) first = &line;
        columns = csv_columns(cells);
        continue;
      }
      const std::size_t last = std::max(columns.size, columns.time);
      if (cells.size() <= last) line.fail(fmt::format("at least {} columns", last + 1));
      add(line, cells[columns.size], cells[columns.time], columns.unit_us);
    }
    if (first != nullptr && !columns.are_found()) {
      first->fail(
          "output of nccl-tests or of OSU, or CSV with a header that names a size and a time "
          "(\"bytes,time_us\")");
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
    if (!time.is_number() || !is_time(time.get<double>()))
      fail_at(time_pointer, time_expected(time.is_number() ? time.get<double>() : 0), time);
    tables_.back().rows.push_back({size->get<std::int64_t>(), time.get<double>()});
  }

  /// The file that nccl-tests -J writes, or a list of {"bytes", "time_us"}.
  void json() {
    const Json root = parse_json(text_, file_);
    const bool nccl = root.is_object();
    if (nccl && (!root.contains("results") || !root["results"].is_array())) {
      fail_at("/results", "the list of results of nccl-tests", root.value("results", Json()));
    }
    const Json args = nccl ? root.value("args", Json()) : Json();
    if (args.is_array() && !args.empty() && args[0].is_string()) {
      const auto command = args[0].get<std::string>();
      hear_command(words_of(command));
      tables_.back().operation = preamble_.operation;
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
      const Json wrong = place.value("nwrong", Json());
      if (wrong.is_number() && wrong.get<double>() > 0)
        fail_at(fmt::format("{}/{}/nwrong", pointer, key), "0 wrong values", wrong);
      add(pointer, row, "size", place.value("time", Json()),
          fmt::format("{}/{}/time", pointer, key));
    }
  }

  const std::string& file_;
  std::string_view text_;
  std::vector<TextLine> lines_;
  std::vector<MeasuredTable> tables_;
  Preamble preamble_;
  TableKind kind_ = TableKind::kNone;      ///< the kind of table that is being read
  bool is_next_ = true;                    ///< the preamble is of a table that has not begun
  NcclColumns columns_;                    ///< where nccl-tests has its columns
  double osu_unit_us_ = 1;                 ///< what one of the column of times is, in us
  std::string row_kind_;                   ///< type and sum of the first row
  std::vector<std::string_view> command_;  ///< the words of a shell's so far
};

}  // namespace

const std::vector<std::string>& measured_operations() {
  static const std::vector<std::string> all{"all-reduce", "all-gather", "reduce-scatter",
                                            "broadcast",  "reduce",     "all-to-all",
                                            "ping-pong"};
  return all;
}

std::string MeasuredTable::name() const {
  return fmt::format("{}{}", operation.empty() ? "a collective" : operation,
                     ranks > 0 ? fmt::format(" on {} rank{}", ranks, ranks == 1 ? "" : "s") : "");
}

std::vector<MeasuredTable> parse_tables(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

std::vector<Measurement> parse_measurements(std::string_view text, const std::string& file) {
  const auto tables = parse_tables(text, file);
  std::vector<Measurement> rows;
  for (const MeasuredTable& table : tables) {
    if (table.operation != tables[0].operation || table.ranks != tables[0].ranks) {
      throw InputError(fmt::format("{}: expected one collective, got {} and {}", file,
                                   tables[0].name(), table.name()));
    }
    rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  }
  return rows;
}

std::vector<Measurement> read_measurements(const std::string& path) {
  return parse_measurements(read_file(path), path);
}

}  // namespace steptime
