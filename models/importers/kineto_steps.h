// Which steps of PyTorch's traces are imported: those that were asked for and are alike.
#pragma once
#include "models/importers/kineto_profile.h"

#include <string>
#include <vector>

namespace steptime {

/// Keeps the steps whose number is asked for: "7", "5-8" or "5-6,9". Throws InputError for what is
/// no such list, and where a rank has not played a step that is named.
void choose_steps(std::vector<KinetoProfile>& ranks, const std::string& asked);

/// Throws InputError for a trace without kernels of passes, and for one without a backward pass.
void check_trains(const std::vector<KinetoProfile>& ranks);

/// What the layers of a step have otherwise than those of another one; "": nothing.
std::string difference_of(const std::vector<ProfiledLayer>& a, const std::vector<ProfiledLayer>& b);

/// Where more than half of the steps have the same layers, leaves the others out, unless a rank had
/// none then. Returns a sentence for each, for people.
std::vector<std::string> leave_odd_steps_out(std::vector<KinetoProfile>& ranks);

}  // namespace steptime
