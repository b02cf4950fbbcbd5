// Any bytes as a profile to import. The first byte selects the importer, and with its high bit the
// layer table; the rest is the profile.
#include "sim/core/error.h"
#include "sim/workload/importer.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

namespace steptime {
namespace {

std::unique_ptr<Importer> importer(std::size_t number) {
  static const Params params{{.key = "format", .kind = Kind::kObject}};
  const auto& items = Importers::instance().items();
  const auto item = std::next(items.begin(), static_cast<std::ptrdiff_t>(number % items.size()));
  const auto document =
      std::make_shared<Document>(Document{"fuzz.json", Json{{"format", {{"type", item->first}}}}});
  return Importers::instance().make(Config(document, params), "format");
}

}  // namespace
}  // namespace steptime

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace steptime;
  if (size == 0 || Importers::instance().items().empty()) return 0;
  const std::size_t selected = data[0];
  const ImportRequest request{
      .file = "fuzz.log",
      .text = {reinterpret_cast<const char*>(data) + 1, size - 1},
      .model = "m",
      .device = "d",
      .batch = 1,
      .layer_table = selected < 128 ? "caffe/googlenet" : "",
      .provenance = Json{{"source", "fuzzer"}, {"date", "now"}, {"licence", "none"}}};
  std::string written;
  try {
    const Imported imported = importer(selected % 128)->import(request);
    if (!imported.trace) return 0;
    written = write_trace(*imported.trace);
  } catch (const InputError&) {
    return 0;
  }
  try {
    parse_trace(written, "imported.json");
  } catch (const InputError&) {  // as `import` does: refuses what no run could use
    return 0;
  }
  return 0;
}
