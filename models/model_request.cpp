#include "models/model_request.h"

#include "models/layer_table.h"
#include "sim/config/data_dir.h"
#include "sim/config/word_list.h"
#include "sim/config/words.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

fs::path devices_dir() {
  return data_dir() / "models" / "devices";
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const fs::path& file : json_files(devices_dir()))
    names.push_back(file.stem().string());
  std::sort(names.begin(), names.end());  // "v100-32gb.json" comes before "v100.json"
  return names;
}

}  // namespace

std::string text_under(const Config& request, const char* key) {
  (void)request.get<std::string>(key);  // throws for what is no text
  return request.raw(key).get<std::string>();
}

Device device_of(const Config& request) {
  const std::string name = text_under(request, "device");
  if (name.ends_with(".json"))
    return parse_device(request.text_of("device"), request.get<std::string>("device"));
  const std::vector<std::string> devices = device_names();
  if (!std::binary_search(devices.begin(), devices.end(), name))
    request.fail("device", unknown_word(name, devices));
  return read_device((devices_dir() / (name + ".json")).string());
}

Training training_of(const Config& request, const Device& device, std::int64_t bytes_per_value) {
  Training training{.weight_bytes = bytes_per_value};
  const char* key = request.has("precision") ? "precision" : "dtype";
  training.precision = request.get<std::string>(key);
  if (!device.precisions.contains(training.precision)) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : device.precisions)
      known.push_back(name);
    request.fail(key, fmt::format("device \"{}\" has no rates for {}; known: {}", device.name,
                                  training.precision, listed(known)));
  }
  if (request.has("optimizer")) {
    const auto name = request.get<std::string>("optimizer");
    const std::vector<std::string> known = optimizer_names();
    if (std::find(known.begin(), known.end(), name) == known.end())
      request.fail("optimizer", unknown_word(name, known));
    training.optimizer = optimizer_named(name);
  }
  if (request.has("host_per_kernel"))
    training.host_per_kernel = request.get<Duration>("host_per_kernel");
  return training;
}

}  // namespace steptime
