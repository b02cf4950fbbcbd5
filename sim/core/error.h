// Faults, and the exit code each one ends the program with (see sim/command/main.cpp).
#pragma once
#include <stdexcept>
#include <string>

namespace steptime {

enum class Exit : int {
  kOk = 0,
  kComparisonFailed = 1,  ///< `compare` or `reproduce` found a difference beyond its tolerance
  kBadInput = 2,          ///< bad usage or input, I/O errors included
  kModelFails = 3,        ///< the modelled system itself fails: deadlock, out of memory
  kSweepHasFailures = 4,  ///< a sweep finished, some of its points did not
  kOutsideDomain = 5,     ///< outside the calibrated domain under --strict
  kMissing = 6,           ///< needed hardware, driver or library is not there
  kBug = 70,              ///< a bug in Steptime
  kInterrupted = 130,     ///< interrupted; results so far are kept
  kOutputClosed = 141,  ///< nobody reads the output any more: not a word, as SIGPIPE's victims end
};

/// The user's fault. The message is one line: file, JSON pointer, what was found, what was
/// expected.
class InputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The modelled system fails, as the real one would: a deadlock, say.
class ModelFailure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A time beyond the range of simulated time. Caught where the place in the input is known.
class RangeError : public InputError {
  using InputError::InputError;
};

/// A fault whose place in the experiment is known, but not the file: "/run/fidelity: ...". Caught
/// where the file is known.
class PlacedError : public InputError {
  using InputError::InputError;
};

/// What was asked for needs hardware, a driver or a library that is not there; says how to get it.
class MissingError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Steptime's fault.
class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& detail);

/// Holds in every build type; never reachable from input.
#define STEPTIME_CHECK(condition, detail) \
  ((condition) ? void(0) : ::steptime::check_failed(#condition, __FILE__, __LINE__, detail))

}  // namespace steptime
