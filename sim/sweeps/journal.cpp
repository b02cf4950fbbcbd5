#include "sim/sweeps/journal.h"

#include "sim/config/digest.h"
#include "sim/config/json.h"
#include "sim/config/text_lines.h"
#include "sim/core/error.h"
#include "sim/core/fingerprint.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace steptime {
namespace {

constexpr const char* kFormat = "steptime-sweep-rows";
constexpr int kVersion = 2;
// Two texts of one length, so that the one can be written over the other.
constexpr std::string_view kUnfinished = "\"complete\":false}\n";
constexpr std::string_view kComplete = "\"complete\":true }\n";
static_assert(kUnfinished.size() == kComplete.size());

constexpr std::string_view kJournalStart = "{\"format\":\"steptime-sweep-rows\",";

/// Up to where it says whether it is complete.
std::string head_of(const SweepIdentity& identity) {
  return fmt::format(
      "{{\"format\":\"{}\",\"version\":{},\"steptime\":\"{}\",\"name\":{},\"points\":{},"
      "\"config\":\"{:016x}\",",
      kFormat, kVersion, STEPTIME_VERSION, Json(identity.name).dump(), identity.points,
      identity.config);
}

// What stands behind a line's own text: the eight digits of its checksum between these.
constexpr std::string_view kMark = ",\"crc32\":\"";
constexpr std::string_view kDigits = "01234567";
constexpr std::string_view kEnd = "\"}\n";
constexpr std::size_t kSeal = kMark.size() + kDigits.size() + kEnd.size();

/// A line as it stands in the file.
struct Line {
  std::string_view text;    ///< up to the checksum; "" for what does not end in one
  std::string_view digits;  ///< the checksum's digits
};

Line line_of(std::string_view whole) {
  if (whole.size() <= kSeal || !whole.ends_with(kEnd)) return {};
  const std::string_view text = whole.substr(0, whole.size() - kSeal);
  if (!whole.substr(text.size()).starts_with(kMark)) return {};
  return {text, whole.substr(text.size() + kMark.size(), kDigits.size())};
}

std::string input_line(const std::string& name, const std::string& digest) {
  return Json{{"input", name}, {"sha1", digest}}.dump() + "\n";
}

/// Throws InputError for what is no regular file: opening a pipe waits for who writes it.
std::FILE* opened(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    throw InputError(fmt::format("{}: cannot be read: is no regular file", path));
  std::FILE* const file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr)
    throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return file;
}

/// The rows of a journal one by one, up to where it is whole.
class JournalReader {
 public:
  explicit JournalReader(const std::string& path)
      : path_(path), file_(opened(path), &std::fclose) {}
  ~JournalReader() { std::free(line_); }
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;

  /// The next line with its end; none behind the last whole one.
  std::optional<std::string_view> next() {
    const ssize_t size = ::getline(&line_, &room_, file_.get());
    if (size > 0 && line_[size - 1] != '\n') cut_ = {line_, static_cast<std::size_t>(size)};
    if (size <= 0 || !cut_.empty()) return std::nullopt;
    offset_ += static_cast<std::size_t>(size);
    ++number_;
    return std::string_view(line_, static_cast<std::size_t>(size));
  }
  /// Behind the line that was read last.
  std::size_t offset() const { return offset_; }

  /// Reads the first line. False where there is not even that.
  bool check_head(const SweepIdentity& identity) {
    before_ = crc32_of(head_of(identity));
    const auto line = next();
    if (!line && cut_.starts_with(kJournalStart.substr(0, cut_.size()))) return false;
    if (!line) throw InputError(fmt::format("{}:1: expected rows of an unfinished sweep", path_));
    const Json head = Json::parse(*line, nullptr, false);
    if (!head.is_object() || head.value("format", Json()) != kFormat)
      throw InputError(fmt::format("{}:1: expected rows of an unfinished sweep, got {}", path_,
                                   brief(Json(std::string(line->substr(0, line->size() - 1))))));
    const auto expect = [&](const char* key, const Json& value, const std::string& why) {
      const Json found = head.value(key, Json());
      if (found == value) return;
      throw InputError(fmt::format("{}: /{}: expected {}, got {}: {}", path_, key, value.dump(),
                                   brief(found), why));
    };
    expect("version", kVersion, "another release of Steptime began this sweep");
    expect("steptime", STEPTIME_VERSION, "another release of Steptime began this sweep");
    const std::string kOther = fmt::format(
        "{} was edited since, or there are other --set values; finish it with the old ones, or "
        "remove it",
        identity.file.empty() ? "the config" : identity.file);
    expect("name", identity.name, kOther);
    expect("points", identity.points, kOther);
    expect("config", fmt::format("{:016x}", identity.config), kOther);
    const std::string written = head_of(identity);
    if (*line != written + std::string(kUnfinished) && *line != written + std::string(kComplete)) {
      std::string_view end = line->substr(0, line->size() - 1);
      if (end.starts_with(written)) end.remove_prefix(written.size());
      throw InputError(fmt::format(
          "{}:1: expected {} at its end, got {}; remove the file and sweep its points "
          "again",
          path_, kUnfinished.substr(0, kUnfinished.size() - 1), brief(Json(std::string(end)))));
    }
    return true;
  }

  /// The next row that is as it was written; none behind the last whole line, nor from one on that
  /// was altered, which `altered` then is. What stands before the row of inputs is told to
  /// `on_input`.
  struct Row {
    std::int64_t point = 0;
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  template <class OnInput>
  std::optional<Row> next_row(OnInput on_input) {
    for (;;) {
      Row row{.offset = offset_};
      const auto whole = next();
      if (!whole) return std::nullopt;
      row.bytes = whole->size();
      const auto [text, digits] = line_of(*whole);
      const std::uint32_t sum = crc32_of(text, before_);
      if (text.empty() || digits != fmt::format("{:08x}", sum)) {
        altered_ = whole->substr(0, whole->size() - 1);
        return std::nullopt;
      }
      if (const auto point = point_of(text)) {
        row.point = *point;
        return row;
      }
      const Json input = Json::parse(std::string(text) + "}");
      on_input(input.at("input").get<std::string>(), input.at("sha1").get<std::string>());
      before_ = sum;
    }
  }
  bool altered() const { return altered_.has_value(); }
  /// Of the line that was altered, if it is the one that was read last: where it is, and what it
  /// is.
  std::string altered_at() const {
    return fmt::format("{}:{}: expected a row with its checksum, got {}", path_, number_,
                       brief(Json(*altered_)));
  }
  /// Checksum of the head and of what was said of inputs.
  std::uint32_t before() const { return before_; }

 private:
  /// None for a line that is of an input.
  static std::optional<std::int64_t> point_of(std::string_view text) {
    constexpr std::string_view kStart = "{\"point\":";
    if (!text.starts_with(kStart)) return std::nullopt;
    return number_in<std::int64_t>(text.substr(kStart.size(), text.find(',') - kStart.size()));
  }

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  char* line_ = nullptr;
  std::string_view cut_;  ///< the last line, where it has no end
  std::size_t room_ = 0;
  std::size_t offset_ = 0;
  std::size_t number_ = 0;
  std::uint32_t before_ = 0;
  std::optional<std::string> altered_;
};

}  // namespace

SweepIdentity identity_of(const Sweep& sweep, const std::string& name, bool full) {
  std::uint64_t hash = mix(kFingerprintSeed, full ? 1 : 0);
  for (const char c : sweep.document().root.dump())
    hash = mix(hash, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  return {name, sweep.points(), hash, sweep.document().file};
}

JournalWriter::JournalWriter(const std::string& path, const SweepIdentity& identity, bool resumes)
    : file_(path, path, {"rows of an unfinished sweep", kJournalStart}) {
  JournalReader reader(path);
  std::int64_t rows = 0;
  before_ = crc32_of(head_of(identity));
  if (!resumes) {  // whatever it is of
    for (reader.next(); auto line = reader.next();)
      rows += line->starts_with("{\"input\":") ? 0 : 1;
    if (rows > 0) {
      throw InputError(
          fmt::format("{}: holds {} points of a sweep that did not end; --resume continues it, or "
                      "remove the file",
                      path, rows));
    }
  } else if (reader.check_head(identity)) {
    size_ = reader.offset();
    const auto on_input = [&](const std::string& name, const std::string& digest) {
      inputs_[name] = digest;
      size_ = reader.offset();
    };
    while (reader.next_row(on_input))
      size_ = reader.offset();
    before_ = reader.before();
    if (reader.altered()) {
      const std::string where = reader.altered_at();
      std::int64_t behind = 0;
      while (reader.next())
        ++behind;
      spdlog::warn("{}: it and the {} rows behind it are simulated again", where, behind);
    }
  }
  file_.resize(size_);
  std::string head = head_of(identity);
  mark_ = head.size();
  head += kUnfinished;
  if (size_ == 0) {
    file_.write(head);
    size_ = head.size();
  } else {
    file_.write_at(mark_, kUnfinished);
  }
  thread_ = std::thread([this] { run(); });
}

JournalWriter::~JournalWriter() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void JournalWriter::wait(std::string_view line) {
  const std::string_view text = line.substr(0, line.size() - std::string_view("}\n").size());
  fmt::format_to(std::back_inserter(waiting_), "{}{}{:08x}{}", text, kMark, crc32_of(text, before_),
                 kEnd);
}

void JournalWriter::say_inputs(const NamedDigests& inputs) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, digest] : inputs) {
    const auto [known, is_new] = inputs_.emplace(name, digest);
    if (known->second != digest)
      throw InputError(fmt::format("{}: was edited since its first row was written", name));
    if (!is_new) continue;
    const std::string line = input_line(name, digest);
    wait(line);
    before_ = crc32_of(std::string_view(line).substr(0, line.size() - 2), before_);
  }
}

void JournalWriter::append(std::string_view rows) {
  constexpr std::size_t kMuch = std::size_t{1} << 20;
  std::unique_lock lock(mutex_);
  if (is_broken_) throw InputError(error_);
  while (!rows.empty()) {
    const std::size_t size = rows.find('\n') + 1;
    wait(rows.substr(0, size));
    rows.remove_prefix(size);
  }
  if (waiting_.size() >= kMuch) write_out(lock);
}

/// Writes without holding up those who append.
void JournalWriter::write_out(std::unique_lock<std::mutex>& lock) {
  const std::string rows = std::exchange(waiting_, {});
  if (rows.empty() || is_broken_) return;
  lock.unlock();
  std::string error;
  {
    const std::lock_guard one_by_one(writing_);
    try {
      file_.write(rows);
      size_ += rows.size();
    } catch (const InputError& e) {
      error = e.what();
      file_.resize(size_);  // a part of a row may have been written
    }
  }
  lock.lock();
  if (error.empty()) return;
  error_ = error;
  is_broken_ = true;
}

void JournalWriter::run() {
  constexpr auto kPause = std::chrono::milliseconds(200);
  std::unique_lock lock(mutex_);
  while (!ends_) {
    wake_.wait_for(lock, kPause);
    if (waiting_.empty()) continue;
    write_out(lock);
    lock.unlock();
    try {
      file_.sync();
    } catch (const InputError& e) {
      lock.lock();
      if (!is_broken_) error_ = e.what();
      is_broken_ = true;
      continue;
    }
    lock.lock();
  }
  write_out(lock);
}

void JournalWriter::flush() {
  std::unique_lock lock(mutex_);
  write_out(lock);
  if (is_broken_) throw InputError(error_);
}

void JournalWriter::complete() {
  flush();
  file_.sync();
  file_.write_at(mark_, kComplete);
}

void FinishedPoints::add_input(const std::string& name, const std::string& digest) {
  const auto [known, is_new] = inputs_.emplace(name, Input{digest, files_.size() - 1});
  if (is_new || known->second.digest == digest) return;
  throw InputError(
      fmt::format("{}: expected rows computed from {} with sha1 {}, as {} has them, got {}: it was "
                  "edited between them; sweep the points of one of the two again",
                  files_.back(), name, known->second.digest, files_[known->second.file], digest));
}

void FinishedPoints::add(const std::string& path, const SweepIdentity& identity, Damage damage) {
  JournalReader reader(path);
  if (!reader.check_head(identity)) return;
  files_.push_back(path);
  Run* last = nullptr;
  std::int64_t next = -1;  // the point that would lengthen it
  std::size_t behind = 0;  // the row before
  const auto on_input = [&](const std::string& name, const std::string& digest) {
    add_input(name, digest);
  };
  while (const auto row = reader.next_row(on_input)) {
    if (has(row->point)) {
      last = nullptr;
      continue;
    }
    ++size_;
    if (last != nullptr && row->point == next && row->offset == behind) {
      ++last->points;
      last->bytes += row->bytes;
    } else {
      last = &(runs_[row->point] = {files_.size() - 1, 1, row->offset, row->bytes});
    }
    next = row->point + 1;
    behind = row->offset + row->bytes;
  }
  if (!reader.altered()) return;
  const std::string what = reader.altered_at();
  if (damage == Damage::kIsRefused)
    throw InputError(what + "; remove the file and sweep its points again");
  spdlog::warn("{}: what follows is simulated again", what);
}

NamedDigests FinishedPoints::inputs() const {
  NamedDigests all;
  for (const auto& [name, input] : inputs_)
    all.emplace(name, input.digest);
  return all;
}

void FinishedPoints::check_inputs(const std::string& config) const {
  for (const auto& [name, input] : inputs_) {
    const std::string path = input_path(name, config);
    const std::string now = sha1_of(text_at(path));
    if (now == input.digest) continue;
    throw InputError(
        fmt::format("{}: expected sha1 {}, which the rows in {} were computed from, got {}: it was "
                    "edited since; undo that, or remove {}",
                    path, input.digest, files_[input.file], now, files_[input.file]));
  }
}

bool FinishedPoints::has(std::int64_t point) const {
  const auto behind = runs_.upper_bound(point);
  if (behind == runs_.begin()) return false;
  const auto& [first, run] = *std::prev(behind);
  return point < first + run.points;
}

std::vector<std::int64_t> FinishedPoints::missing(std::int64_t first, std::int64_t stride,
                                                  std::int64_t end, std::size_t most) const {
  std::vector<std::int64_t> points;
  for (std::int64_t point = first; point < end && points.size() < most; point += stride) {
    if (!has(point)) points.push_back(point);
  }
  return points;
}

void FinishedPoints::each(std::int64_t first, std::int64_t end,
                          const std::function<void(std::string_view row)>& on_row) const {
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  std::map<std::size_t, File> open;
  const auto opened = [&](std::size_t number) {
    const std::string& name = files_[number];
    const auto found = open.try_emplace(number, File(nullptr, &std::fclose)).first;
    if (!found->second) found->second.reset(std::fopen(name.c_str(), "rbe"));
    if (!found->second)
      throw InputError(fmt::format("{}: cannot be read: {}", name, std::strerror(errno)));
    return found->second.get();
  };
  auto at = runs_.upper_bound(first);
  if (at != runs_.begin()) --at;
  for (; at != runs_.end() && at->first < end; ++at) {
    const auto& [begin, run] = *at;
    if (begin + run.points <= first) continue;
    std::FILE* const file = opened(run.file);
    std::fseek(file, static_cast<long>(run.offset), SEEK_SET);
    constexpr std::size_t kPart = std::size_t{1} << 20;
    std::size_t left = run.bytes;
    std::int64_t point = begin;
    std::string rows;
    std::string rest;  // of a row that goes on in the next part
    std::string row;
    while (left > 0) {
      rows.resize(std::min(left, kPart));
      if (std::fread(rows.data(), 1, rows.size(), file) != rows.size())
        throw InputError(fmt::format("{}: cannot be read whole", files_[run.file]));
      left -= rows.size();
      rest += rows;
      const std::string_view whole = rest;
      std::size_t used = 0;
      for (auto line = whole.find('\n'); line != whole.npos; line = whole.find('\n', used)) {
        if (point >= first && point < end) {
          row = line_of(whole.substr(used, line + 1 - used)).text;
          on_row(row += "}\n");
        }
        used = line + 1;
        ++point;
      }
      rest.erase(0, used);
    }
  }
}

}  // namespace steptime
