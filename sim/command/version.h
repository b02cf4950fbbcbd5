// Which Steptime this is.
#pragma once
#include <string>

namespace steptime {

/// "0.1.0 (9c3f1e0a2b4d)": the release and the commit that it was built from; only the release
/// where that is not known.
std::string version_with_commit();

}  // namespace steptime
