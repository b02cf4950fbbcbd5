// Where the shipped data (models/, netmodels/presets/, traces/, configs/) stands.
#pragma once
#include <filesystem>

namespace steptime {

/// The source tree that the program was built from, or the installed share/steptime beside it.
const std::filesystem::path& data_dir();

}  // namespace steptime
