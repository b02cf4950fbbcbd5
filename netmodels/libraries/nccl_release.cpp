// Scope: releases 2.3 to 2.30. A release is taken to run on GPUs that it has kernels for.
// Source: NVIDIA/nccl makefiles/common.mk: 8.0 is in v2.7.3-1, 9.0 from v2.15.1-1 on (not in
// v2.14.3-1), 10.0 and 12.0 from v2.25.1-1 on (not in v2.24.3-1).
#include "netmodels/libraries/nccl_release.h"

#include <charconv>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Where nobody names a release: the first of three that have kernels for the GPUs and estimates
/// for their generation.
std::string default_of(const std::optional<GpuNode>& gpus) {
  const std::int64_t capability = gpus ? gpus->compute_capability : 0;
  if (capability >= 100) return "2.28.9";
  return capability >= 89 ? "2.27.3" : "2.12.12";
}

}  // namespace

int nccl_release_number(std::string_view text) {
  int numbers[3] = {0, 0, 0};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int i = 0; i < 3; ++i) {
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc{} || numbers[i] < 0 || numbers[i] > 999) return -1;
    at = next;
    if (at == end) return i == 0 ? -1 : (numbers[0] * 1000 + numbers[1]) * 1000 + numbers[2];
    if (*at++ != '.') return -1;
  }
  return -1;
}

int read_nccl_release(const Config& config, const std::optional<GpuNode>& gpus) {
  const auto named = config.get<std::string>("version");
  const std::string text = named == "auto" ? default_of(gpus) : named;
  const int release = nccl_release_number(text);
  if (release < 2003000 || release > 2030999) {
    config.fail("version",
                fmt::format("expected a release of NCCL from 2.3 to 2.30 (known: 2.3.7, 2.4.8, "
                            "2.5.7, 2.7.8, 2.12.12, 2.18.3, 2.19.3, 2.21.5, 2.23.4, 2.24.3, "
                            "2.25.1, 2.27.3, 2.28.3, 2.28.9, 2.29.2, 2.29.7, 2.30.3, each up to "
                            "the next), got {}",
                            brief(text)));
  }
  return release;
}

std::string nccl_release_note(int release, int compute_capability) {
  const auto first = [&](int generation, int needed, const char* text) {
    if (compute_capability < generation || release >= needed) return std::string();
    return fmt::format(
        "NCCL {}.{} has no kernels for GPUs of compute capability {}.{}: the first release that "
        "has is {}",
        release / 1000000, release / 1000 % 1000, compute_capability / 10, compute_capability % 10,
        text);
  };
  if (compute_capability >= 100) return first(100, 2025000, "2.25");
  if (compute_capability >= 90) return first(90, 2015000, "2.15");
  return first(80, 2007000, "2.7");
}

}  // namespace steptime
