// Programs beside this one that need what it does not: MPI, oneDNN, CUDA. It neither links nor
// loads them; each is built only where its library is found.
#pragma once
#include <span>
#include <string>

namespace steptime {

struct Companion {
  std::string program;   ///< "steptime-mpi"
  std::string library;   ///< "MPI", for messages
  std::string packages;  ///< packages of Debian that building it needs
};
inline const Companion kMpiProgram{"steptime-mpi", "MPI", "libopenmpi-dev openmpi-bin"};
inline const Companion kDnnlProgram{"steptime-dnnl", "oneDNN", "libdnnl-dev"};
inline const Companion kCudaProgram{"steptime-cuda", "CUDA", "nvidia-cuda-toolkit"};

/// Becomes the program, found beside this one or in `folder`. Returns only by throwing:
/// MissingError when it is not there.
[[noreturn]] void become(const Companion& companion, std::span<const std::string> args,
                         std::string folder = "");

}  // namespace steptime
