#include "sim/command/companion.h"

#include "sim/core/error.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace steptime {

void become(const Companion& companion, std::span<const std::string> args, std::string folder) {
  if (folder.empty()) {
    std::error_code failed;
    folder = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string();
  }
  const std::string program = folder + "/" + companion.program;
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& arg : args)
    words.push_back(const_cast<char*>(arg.c_str()));
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  if (errno != ENOENT)
    throw InputError(fmt::format("{}: cannot be started: {}", program, std::strerror(errno)));
  throw MissingError(
      fmt::format("{} is not there: it is built where {} is found; apt-get install {}, and build "
                  "again",
                  companion.program, companion.library, companion.packages));
}

}  // namespace steptime
