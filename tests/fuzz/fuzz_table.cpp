// Any bytes as the CSV of a measured collective.
#include "sim/collective/collective.h"
#include "sim/core/error.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace steptime {
namespace {

/// A file in memory, as the table is named by path.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("table", 0)) {
    if (descriptor_ < 0) std::abort();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }

  void write(const std::uint8_t* data, std::size_t size) const {
    if (ftruncate(descriptor_, 0) != 0 ||
        pwrite(descriptor_, data, size, 0) != static_cast<ssize_t>(size)) {
      std::abort();
    }
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void ask(const std::string& file, const char* extrapolate) {
  static const Params params{{.key = "collective", .kind = Kind::kObject}};
  const auto document = std::make_shared<Document>(Document{
      "fuzz.json",
      Json{{"collective", {{"type", "table"}, {"file", file}, {"extrapolate", extrapolate}}}}});
  const auto table =
      Collectives::instance().make(Config(document, params), "collective", Cluster{});
  table->startup();
  table->linear();
  Duration before{};
  for (const std::int64_t bytes : {0L, 1L, 4L, 1000L, 1L << 20, 1L << 30, 1L << 40, 1L << 53}) {
    try {
      table->outside_domain(Bytes{bytes});
      const Duration time = table->time(Bytes{bytes});
      STEPTIME_CHECK(time >= before, "a collective gets faster with more data");
      before = time;
    } catch (const InputError&) {  // outside the table, or of simulated time
      continue;
    }
  }
}

}  // namespace
}  // namespace steptime

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const steptime::MemoryFile file;
  file.write(data, size);
  for (const char* extrapolate : {"flag", "refuse"}) {
    try {
      steptime::ask(file.path(), extrapolate);
    } catch (const steptime::InputError&) {
      continue;
    }
  }
  return 0;
}
