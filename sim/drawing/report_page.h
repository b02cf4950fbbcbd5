// One HTML file that needs no other: what report_data() gives, the charts of plots/report and Vega.
#pragma once
#include "sim/config/json.h"

#include <string>

namespace steptime {

/// `vega`: the folder of Vega's modules (vega-NAME.min.js, version 5), Debian's by default. Throws
/// MissingError when they are not there. The page's policy lets nothing leave it.
std::string report_page(const Json& data, const std::string& vega = "/usr/share/javascript/vega");

}  // namespace steptime
