// What launchers write in front of each line of their ranks' output.
#pragma once
#include <string_view>

namespace steptime {

/// The line without what Open MPI ("[1,0]<stdout>:"), Slurm ("0: "), MPICH ("[0] "), Kubernetes'
/// log formats ("2026-01-31T10:00:00Z stdout F ") and quotations ("> ") put in front, in any order,
/// and without spaces at its ends.
std::string_view without_launcher_prefix(std::string_view line);

}  // namespace steptime
