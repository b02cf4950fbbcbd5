// Releases of NCCL: which is meant, and which GPUs it runs on.
#pragma once
#include "sim/config/config.h"
#include "sim/network/gpus.h"

#include <optional>
#include <string>
#include <string_view>

namespace steptime {

/// 2012003 for "2.12.3", the last number 0 where none is given; -1 for what is no release.
int nccl_release_number(std::string_view text);

/// Of the key "version"; "auto" is 2.12.12, on GPUs of 8.9 and 9.0 2.27.3, on later ones 2.28.9.
int read_nccl_release(const Config& config, const std::optional<GpuNode>& gpus);

/// Empty, or why a release cannot have run on these GPUs.
std::string nccl_release_note(int release, int compute_capability);

}  // namespace steptime
