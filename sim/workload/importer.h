// Converting somebody else's profile of a training step into a trace. Implemented in
// models/importers/, one file each.
#pragma once
#include "sim/config/registry.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace steptime {

/// What the profile itself does not say.
struct ImportRequest {
  std::string file;  ///< for messages
  std::string text;  ///< of the profile
  std::string model;
  std::string device;
  std::int64_t batch = 0;
  std::string layer_table;  ///< name of a layer table that gives the parameters, or ""
  Json provenance;          ///< source, date, licence, note
};

class Importer {
 public:
  static constexpr const char* kNoun = "importer";
  virtual ~Importer() = default;
  /// Throws InputError "<file>: line L: ..." for anything that it cannot read.
  virtual Trace import(const ImportRequest& request) const = 0;
};
using Importers = Registry<Importer>;

}  // namespace steptime
