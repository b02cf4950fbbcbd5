// Converting what somebody else measured: a profile of a training step into a trace, a benchmark of
// a collective into a table. Implemented in models/importers/, one file each.
#pragma once
#include "sim/config/registry.h"
#include "sim/core/limits.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// What the profile itself does not say.
struct ImportRequest {
  std::string file;                  ///< for messages
  std::string text;                  ///< content of the profile; empty for an importer that streams
  std::vector<std::string> paths{};  ///< for an importer that streams: a file for each rank
  std::string model;
  std::string device;
  std::int64_t batch = 0;
  std::string layer_table;  ///< name of a layer table that gives the parameters, or ""
  Json provenance;          ///< source, date, licence, note
  OnProgress on_progress{};
};

/// What an import makes: a trace, or a table.
struct Imported {
  std::optional<Trace> trace{};
  std::string table{};  ///< CSV that a collective of type "table" reads
  /// What the profile lacks and what was inferred instead: a sentence each, for a person to read.
  std::vector<std::string> missing{};
};

class Importer {
 public:
  static constexpr const char* kNoun = "importer";
  virtual ~Importer() = default;
  /// Throws InputError "<file>: ..." for anything that it cannot read.
  virtual Imported import(const ImportRequest& request) const = 0;
  /// Whether it makes a table, for which nobody needs to name a model and its batch.
  virtual bool makes_table() const { return false; }
  /// Whether it reads `paths` itself, piece by piece: they may be many and larger than the memory.
  virtual bool streams() const { return false; }
};
using Importers = Registry<Importer>;

}  // namespace steptime
