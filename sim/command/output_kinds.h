// What verbs write into files, and how each knows an earlier file of its own again.
#pragma once
#include "sim/config/output_files.h"

#include <string_view>

namespace steptime {

inline constexpr OutputKind kResult{"a result of steptime run", "{\n  \"step_time_s\":"};
inline constexpr OutputKind kCurves{"curves of steptime run", "seed,time_s,epoch,accuracy,loss\n"};
inline constexpr OutputKind kChrome{"a Chrome timeline of steptime run", "[\n{\n\"ph\": \"M\","};
/// A packet; in it are the sequence's number (field 10) and the description of a track (field 60).
inline constexpr OutputKind kPerfetto{"a Perfetto timeline of steptime run", "\n", "P\x01\xe2\x03"};

inline constexpr OutputKind kRows{"rows of steptime sweep", "{\"point\":", ",\"params\":{"};
inline constexpr OutputKind kCsv{"a table of steptime sweep", "point,", ",step_time_s,"};
inline constexpr OutputKind kInputs{"inputs of steptime sweep",
                                    "{\n \"format\": \"steptime-inputs\","};
inline constexpr OutputKind kPins{"results of steptime pin", "{\"format\": \"steptime-pin\","};

/// Stands in every figure: gnuplot does not say who called it.
inline constexpr std::string_view kFigureMark = "steptime plot";
inline constexpr OutputKind kSvg{"a figure of steptime plot", "<?xml", kFigureMark};
inline constexpr OutputKind kPdf{"a figure of steptime plot", "%PDF", kFigureMark};
inline constexpr OutputKind kPng{"a figure of steptime plot", "\x89PNG", kFigureMark};

inline constexpr OutputKind kReportPage{"a page of steptime report", "<!doctype html>\n",
                                        "<title>Steptime</title>"};
inline constexpr OutputKind kManualPage{"a page of steptime man", ".TH STEPTIME"};

inline constexpr OutputKind kTrace{"a trace of steptime", "{\n \"format\": \"steptime-trace\","};
inline constexpr OutputKind kSizeTable{"a table of steptime import",
                                       "# source: ", "\nbytes,time_us\n"};
inline constexpr OutputKind kProfile{"a profile of steptime calibrate",
                                     "{\n  \"format\": \"steptime-cluster\","};
inline constexpr OutputKind kMeasurements{"measurements of steptime calibrate",
                                          "{\"format\":\"steptime-measurements\","};
inline constexpr OutputKind kReplay{"a file of steptime replay",
                                    "{\n  \"format\": \"steptime-replay\","};

}  // namespace steptime
