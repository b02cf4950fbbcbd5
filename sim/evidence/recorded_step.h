// A step of the record beside what it was predicted from.
#pragma once
#include "sim/experiment/memory_record.h"
#include "sim/experiment/track_record.h"

#include <string>

namespace steptime {

/// A published step of a run whose settings are known, beside a prediction made before any of them
/// was fitted on its testbed.
struct RecordedStep {
  RecordRow row;
  Prediction prediction;
  std::string model;    ///< name of the model that is trained
  std::string config;   ///< the file of its claims, relative to the data folder
  std::string group{};  ///< the row's group, where a file of rows states it; else ""
};

/// What a published run has allocated, beside what is simulated, GiB.
struct RecordedMemory {
  MemoryRow row;
  double published = 0;
  double simulated = 0;
};

}  // namespace steptime
