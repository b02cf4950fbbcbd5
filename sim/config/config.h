// Typed reading of JSON objects. Every object is read through a table of its keys, so that the
// table is the documentation, the JSON Schema and the check against misspelt keys at once.
//
// Quantities in hand-written files are text with a unit; a bare number is refused. Messages name
// the file, the JSON pointer, what was found and what was expected.
#pragma once
#include "sim/config/json.h"
#include "sim/core/units.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

enum class Kind {
  kTime,
  kBytes,
  kBandwidth,
  kTimePerByte,
  kInteger,
  kNumber,
  kBoolean,
  kText,
  kPath,    ///< relative to the file that names it
  kObject,  ///< read with a table of its own
  kList,
  kAny
};

enum class Need {
  kRequired,
  kDefault,   ///< `fallback` stands when the key is missing
  kOptional,  ///< ask has() before get()
};

/// Allowed values of a number or quantity, in the base unit (s, B, B/s, s/B).
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_is_allowed = true;
};
inline constexpr Range kAnyValue{};
inline constexpr Range kNotNegative{.low = 0};
inline constexpr Range kPositive{.low = 0, .low_is_allowed = false};

/// One key of an object; the key "*" stands for any.
struct Param {
  std::string key;
  Kind kind = Kind::kAny;
  std::string help;
  Need need = Need::kRequired;
  Json fallback = nullptr;
  /// Keys of the same object beside which the fallback does not stand.
  std::vector<std::string> unless = {};
  Range range = kAnyValue;
  std::vector<std::string> words = {};  ///< for kText: the allowed words; empty: any
  std::string choice = {};  ///< for kObject: the registry that its "type" is looked up in
  const std::vector<Param>& (*table)() = nullptr;  ///< for kObject without a choice: its keys
};
using Params = std::vector<Param>;

}  // namespace steptime

// Compiled once, in config.cpp, and not in every file that has a table.
extern template class std::vector<steptime::Param>;

namespace steptime {

/// The table of an object with keys of the user's own.
const Params& any_keys();

/// A JSON text and where it came from.
struct Document {
  std::string file;
  Json root;
};

/// A cursor on one JSON object of a document. Cheap to copy; keeps the document alive.
class Config {
 public:
  /// An object read through `params`, which must outlive the cursor. Throws InputError when the
  /// value is no object or has a key that `params` lacks.
  Config(const std::shared_ptr<const Document>& document, const Params& params);
  /// An object of no file and without keys, for which the defaults of `params` stand.
  explicit Config(const Params& params);

  bool has(std::string_view key) const;
  /// T: Duration, Bytes, Bandwidth, TimePerByte, int64_t, double, bool, std::string (kText as it
  /// stands, kPath resolved against the file's folder).
  template <class T>
  T get(std::string_view key) const;
  /// The object under `key`, read through another table.
  Config object(std::string_view key, const Params& params) const;
  /// This object, read through another table.
  Config through(const Params& params) const;
  /// An object without keys in the place of the value under `key`: the defaults of `params` stand.
  Config defaults(std::string_view key, const Params& params) const;
  /// The objects of the list under `key`.
  std::vector<Config> objects(std::string_view key, const Params& params) const;
  /// The text of the file that `key`, a path, names. Throws InputError that names both.
  std::string text_of(std::string_view key) const;
  /// The value as it stands; the caller checks it.
  const Json& raw(std::string_view key) const;
  const Json& node() const { return *node_; }

  /// Throws InputError for a value that its parameter does not allow, be it read or not; an object
  /// or list is checked by who reads it.
  void check_values() const;

  [[noreturn]] void fail(std::string_view key, std::string_view message) const;
  const std::string& file() const { return document_->file; }
  const std::string& pointer() const { return pointer_; }
  const std::shared_ptr<const Document>& document() const { return document_; }

 private:
  Config(std::shared_ptr<const Document> document, const Json* node, std::string pointer,
         const Params& params);
  const Param& param(std::string_view key) const;
  const Json& value(const Param& param, std::string_view key) const;

  std::shared_ptr<const Document> document_;
  const Json* node_;
  std::string pointer_;
  const Params* params_;
};

/// `object` with the defaults of `params` filled in, in the order of the table.
Json with_defaults(const Json& object, const Params& params);

}  // namespace steptime
