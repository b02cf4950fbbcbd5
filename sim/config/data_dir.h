// Where the shipped data (models/, netmodels/presets/, traces/, configs/) stands.
#pragma once
#include <filesystem>

namespace steptime {

/// The source tree that this was built from, or the installed share/steptime: beside a program's
/// folder, or the next one above a Python module.
const std::filesystem::path& data_dir();

}  // namespace steptime
