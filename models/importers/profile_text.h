// Profiles that are text: lines that know where they stand, fields, numbers.
#pragma once
#include "sim/config/text_lines.h"
#include "sim/workload/importer.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// A line of a profile. Points into the request that it came from.
class ProfileLine : public TextLine {
 public:
  using TextLine::TextLine;
  explicit ProfileLine(const TextLine& line) : TextLine(line) {}

  /// The text behind the prefix that Caffe's logger puts in front ("I0219 13:29:27.119763 66221
  /// caffe.cpp:405] "), or all of it.
  std::string_view message() const;
  bool is_logged() const { return message().data() != text().data(); }

  /// `field` as a time in `unit` ("ms", "us").
  Duration time(std::string_view field, std::string_view unit) const;
  std::int64_t integer(std::string_view field, std::string_view what) const;
  /// Not empty, printable ASCII: what a trace can hold and a message can show.
  std::string name(std::string_view field) const;
  /// The cells of `row`, which must be as many as there are columns.
  std::vector<std::string> fields(std::string_view row, std::size_t columns) const;

 private:
  double number(std::string_view field, std::string_view expected) const;
};

/// The lines that are not blank. `request` must outlive them.
std::vector<ProfileLine> profile_lines(const ImportRequest& request);

/// A trace with the request's model, device, batch and provenance, and `note` behind its note.
Trace empty_trace(const ImportRequest& request, const std::string& note);

/// There are layers, and their totals are such that a trace file can hold them. Throws InputError.
void check_imported(const Trace& trace, const std::string& file);

struct LearnableLayers {
  std::string table;          ///< full name
  std::vector<Layer> layers;  ///< with names and tensors, in the table's order; no times
};

/// The layers with tensors of the request's layer table. `why`: the profile does not say itself.
/// Throws InputError when none is named or known.
LearnableLayers learnable_layers(const ImportRequest& request, const std::string& why);

}  // namespace steptime
