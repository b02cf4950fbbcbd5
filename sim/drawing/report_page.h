// One HTML file that needs no other: what report_data() gives, the charts of plots/report and Vega.
#pragma once
#include "sim/config/json.h"

#include <string>

namespace steptime {

/// The modules of Vega (vega-NAME.min.js, version 5) in a folder, Debian's by default, as members
/// of an object. Throws MissingError when they are not there.
std::string vega_modules(const std::string& folder = "/usr/share/javascript/vega");
/// The page's policy lets nothing leave it.
std::string report_page(const Json& data, const std::string& vega_modules);

}  // namespace steptime
