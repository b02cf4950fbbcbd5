#include "sim/sweeps/journal.h"

#include "sim/config/json.h"
#include "sim/core/error.h"
#include "sim/core/fingerprint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace steptime {
namespace {

constexpr const char* kFormat = "steptime-sweep-rows";
constexpr int kVersion = 1;
// Two texts of one length, so that the one can be written over the other.
constexpr std::string_view kUnfinished = "\"complete\":false}\n";
constexpr std::string_view kComplete = "\"complete\":true }\n";
static_assert(kUnfinished.size() == kComplete.size());

std::string head_of(const SweepIdentity& identity) {
  return fmt::format(
      "{{\"format\":\"{}\",\"version\":{},\"steptime\":\"{}\",\"name\":{},\"points\":{},"
      "\"config\":\"{:016x}\",{}",
      kFormat, kVersion, STEPTIME_VERSION, Json(identity.name).dump(), identity.points,
      identity.config, kUnfinished);
}

/// The rows of a journal one by one, up to where it is whole.
class JournalReader {
 public:
  explicit JournalReader(const std::string& path)
      : path_(path), file_(std::fopen(path.c_str(), "rbe"), &std::fclose) {
    if (!file_) throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  ~JournalReader() { std::free(line_); }
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;

  /// The next line with its end; none behind the last whole one.
  std::optional<std::string_view> next() {
    const ssize_t size = ::getline(&line_, &room_, file_.get());
    if (size <= 0 || line_[size - 1] != '\n') return std::nullopt;
    offset_ += static_cast<std::size_t>(size);
    ++number_;
    return std::string_view(line_, static_cast<std::size_t>(size));
  }
  /// Behind the line that was read last, and its number.
  std::size_t offset() const { return offset_; }
  std::size_t number() const { return number_; }

  /// Reads the first line. False where there is not even that.
  bool check_head(const SweepIdentity& identity) {
    const auto line = next();
    if (!line) return false;
    const Json head = Json::parse(*line, nullptr, false);
    if (!head.is_object() || head.value("format", Json()) != kFormat)
      throw InputError(fmt::format("{}:1: expected rows of an unfinished sweep, got {}", path_,
                                   brief(Json(std::string(line->substr(0, line->size() - 1))))));
    const auto expect = [&](const char* key, const Json& value, const char* why) {
      const Json found = head.value(key, Json());
      if (found == value) return;
      throw InputError(fmt::format("{}: /{}: expected {}, got {}: {}", path_, key, value.dump(),
                                   brief(found), why));
    };
    expect("version", kVersion, "another release of Steptime began this sweep");
    expect("steptime", STEPTIME_VERSION, "another release of Steptime began this sweep");
    const char* const kOther =
        "it is of another config or other --set values; finish it with those, or remove it";
    expect("name", identity.name, kOther);
    expect("points", identity.points, kOther);
    expect("config", fmt::format("{:016x}", identity.config), kOther);
    return true;
  }

  /// The point of a row; none for what is no whole row.
  static std::optional<std::int64_t> point_of(std::string_view row) {
    constexpr std::string_view kStart = "{\"point\":";
    if (!row.starts_with(kStart) || !row.ends_with("}\n")) return std::nullopt;
    row.remove_prefix(kStart.size());
    std::int64_t point = 0;
    const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), point);
    if (error != std::errc{} || *end != ',' || row.find('\0') != row.npos) return std::nullopt;
    return point;
  }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  char* line_ = nullptr;
  std::size_t room_ = 0;
  std::size_t offset_ = 0;
  std::size_t number_ = 0;
};

}  // namespace

SweepIdentity identity_of(const Sweep& sweep, const std::string& name, bool full) {
  std::uint64_t hash = mix(kFingerprintSeed, full ? 1 : 0);
  for (const char c : sweep.document().root.dump())
    hash = mix(hash, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  return {name, sweep.points(), hash};
}

JournalWriter::JournalWriter(const std::string& path, const SweepIdentity& identity, bool resumes)
    : file_(path, path) {
  JournalReader reader(path);
  std::int64_t rows = 0;
  if (!resumes) {  // whatever it is of
    for (reader.next(); reader.next();)
      ++rows;
    if (rows > 0) {
      throw InputError(
          fmt::format("{}: holds {} points of a sweep that did not end; --resume continues it, or "
                      "remove the file",
                      path, rows));
    }
  } else if (reader.check_head(identity)) {
    size_ = reader.offset();
    for (auto row = reader.next(); row && JournalReader::point_of(*row); row = reader.next())
      size_ = reader.offset();
  }
  file_.resize(size_);
  const std::string head = head_of(identity);
  mark_ = head.size() - kUnfinished.size();
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

void JournalWriter::append(std::string_view rows) {
  constexpr std::size_t kMuch = std::size_t{1} << 20;
  std::unique_lock lock(mutex_);
  if (is_broken_) throw InputError(error_);
  waiting_ += rows;
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

void FinishedPoints::add(const std::string& path, const SweepIdentity& identity) {
  JournalReader reader(path);
  if (!reader.check_head(identity)) return;
  files_.push_back(path);
  Run* last = nullptr;
  std::int64_t next = -1;  // the point that would lengthen it
  for (;;) {
    const std::size_t offset = reader.offset();
    const auto row = reader.next();
    if (!row) return;
    const auto point = JournalReader::point_of(*row);
    if (!point || *point < 0 || *point >= identity.points) {
      spdlog::warn("{}:{}: expected the row of a point, got {}: what follows is simulated again",
                   path, reader.number(),
                   brief(Json(std::string(row->substr(0, row->size() - 1)))));
      return;
    }
    if (has(*point)) {
      last = nullptr;
      continue;
    }
    ++size_;
    if (last != nullptr && *point == next) {
      ++last->points;
      last->bytes += row->size();
    } else {
      last = &(runs_[*point] = {files_.size() - 1, 1, offset, row->size()});
    }
    next = *point + 1;
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
    while (left > 0) {
      rows.resize(std::min(left, kPart));
      if (std::fread(rows.data(), 1, rows.size(), file) != rows.size())
        throw InputError(fmt::format("{}: cannot be read whole", files_[run.file]));
      left -= rows.size();
      rest += rows;
      const std::string_view whole = rest;
      std::size_t used = 0;
      for (auto line = whole.find('\n'); line != whole.npos; line = whole.find('\n', used)) {
        if (point >= first && point < end) on_row(whole.substr(used, line + 1 - used));
        used = line + 1;
        ++point;
      }
      rest.erase(0, used);
    }
  }
}

}  // namespace steptime
