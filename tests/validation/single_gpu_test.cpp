// Does a layer table on a calibrated device train as fast as published? Prints the error of every
// published single-GPU row.
#include "models/layer_table.h"
#include "models/roofline.h"
#include "sim/config/data_dir.h"
#include "sim/config/json.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

const Json& published() {
  static const Json data = [] {
    const std::string file = STEPTIME_TESTS_DIR "/validation/single_gpu.json";
    return parse_json(read_file(file), file);
  }();
  return data;
}

Device device_named(const std::string& name) {
  return read_device((data_dir() / "models" / "devices" / (name + ".json")).string());
}

/// Images per second of one worker that does nothing but compute.
double predicted(const Json& row) {
  const auto device = row.at("device").get<std::string>();
  const auto batch = row.at("batch").get<std::int64_t>();
  const Trace trace =
      roofline(read_layer_table(find_layer_table(row.at("model").get<std::string>())),
               device_named(device), batch, 4);
  return static_cast<double>(batch) / to_seconds(trace.forward() + trace.backward());
}

TEST(SingleGpu, PublishedThroughputIsPredicted) {
  fmt::print("{:<32}{:<21}{:>6}{:>7}{:>11}{:>11}{:>9}\n", "id", "model", "device", "batch",
             "published", "predicted", "error");
  const auto bound = published().at("validation_tolerance_pct").get<double>();
  std::map<std::string, std::pair<double, int>> validation;  // sum of |error|, rows; by device
  std::map<std::string, ModelErrors> inside;                 // of the calibrated batch sizes
  for (const Json& row : published().at("rows")) {
    const auto id = row.at("id").get<std::string>();
    const auto device = row.at("device").get<std::string>();
    const bool calibrated = row.at("calibrated_on").get<bool>();
    const double rate = predicted(row);
    const double error = (rate / row.at("published").get<double>() - 1) * 100;
    fmt::print("{:<32}{:<21}{:>6}{:>7}{:>11.2f}{:>11.2f}{:>+8.1f}%{}\n", id,
               row.at("model").get<std::string>(), device, row.at("batch").get<int>(),
               row.at("published").get<double>(), rate, error,
               calibrated                      ? "  fitted"
               : row.contains("expected_miss") ? "  missed"
                                               : "");
    if (calibrated) {
      EXPECT_LE(std::abs(error), published().at("calibrated_tolerance_pct").at(device)) << id;
      continue;
    }
    validation[device].first += std::abs(error);
    ++validation[device].second;
    const Device found = device_named(device);
    if (const auto batch = row.at("batch").get<std::int64_t>();
        batch >= found.batch_from && batch <= found.batch_to) {
      ModelErrors& errors = inside[device];
      ++errors.rows;
      errors.typical_pct += std::abs(error);
      errors.worst_pct = std::max(errors.worst_pct, std::abs(error));
    }
    if (row.contains("expected_miss")) {
      EXPECT_GT(std::abs(error), bound) << id << " is no longer missed: remove \"expected_miss\"";
    } else {
      EXPECT_LE(std::abs(error), bound) << id;
    }
  }
  for (const auto& [device, errors] : inside) {
    const ModelErrors said = device_named(device).validation;
    EXPECT_EQ(said.rows, errors.rows) << device;
    EXPECT_NEAR(said.typical_pct, errors.typical_pct / static_cast<double>(errors.rows), .05)
        << device;
    EXPECT_NEAR(said.worst_pct, errors.worst_pct, .05) << device;
  }
  for (const auto& [device, sum] : validation) {
    fmt::print("{}: mean absolute error of the {} rows not fitted: {:.1f} %\n", device, sum.second,
               sum.first / sum.second);
  }
}

}  // namespace
}  // namespace steptime
