// A step of the record beside what it was predicted from.
#pragma once
#include "sim/experiment/track_record.h"

#include <string>

namespace steptime {

/// A published step of a run whose settings are known, beside a prediction made before any of them
/// was fitted on its testbed.
struct RecordedStep {
  RecordRow row;
  Prediction prediction;
  std::string model;    ///< that is trained
  std::string config;   ///< the file of its claims, relative to the data folder
  std::string group{};  ///< of a row of a file of rows
};

}  // namespace steptime
