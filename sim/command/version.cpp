#include "sim/command/version.h"

#include <commit.h>  // written by cmake/commit.cmake
#include <string>

namespace steptime {

std::string version_with_commit() {
  const std::string commit = STEPTIME_COMMIT;
  return STEPTIME_VERSION + (commit.empty() ? "" : " (" + commit + ")");
}

}  // namespace steptime
