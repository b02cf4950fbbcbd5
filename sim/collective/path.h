// What a collective runs over, for people: an interface beside Collective, of those that know.
#pragma once
#include <cstdint>
#include <string>

namespace steptime {

struct CollectivePath {
  std::string links;  ///< inside a node: "24 rings over NVLink"; "": not known
  /// Network adapters of a node that it uses at once; 0: none, or it is not known.
  std::int64_t adapters = 0;
  std::string rules;  ///< by which it chooses: "NCCL 2.20.5 by the rules of 2.19.3"
};

class HasPath {
 public:
  virtual ~HasPath() = default;
  /// The same for all sizes.
  virtual CollectivePath path() const = 0;
};

/// "12 rings over NVLink, 8 adapters a node (NCCL 2.20.5 by the rules of 2.19.3)"; "" for an empty
/// path.
std::string path_text(const CollectivePath& path);

}  // namespace steptime
