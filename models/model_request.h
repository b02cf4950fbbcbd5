// What a "workload" section says of the device and the training of a model.
#pragma once
#include "models/device.h"
#include "models/training.h"
#include "sim/config/config.h"

#include <cstdint>
#include <string>

namespace steptime {

/// The text under a key that may name a file: as it stands there, as a path would be seen from the
/// config's folder.
std::string text_under(const Config& request, const char* key);
/// Under "device": a file, or else a shipped device by its name. Throws InputError.
Device device_of(const Config& request);
/// `bytes_per_value`: of gradients. Throws InputError for what the device does not have.
Training training_of(const Config& request, const Device& device, std::int64_t bytes_per_value);

}  // namespace steptime
