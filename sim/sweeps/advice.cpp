#include "sim/sweeps/advice.h"

#include "sim/core/text_table.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// The least gain that a table shows, 0.1 % rounded.
constexpr double kLeastShown = 0.0005;

/// Half of an interval, in logarithms.
double half_width(const Interval& interval) {
  return interval.low > 0 ? std::log(interval.high / interval.low) / 2
                          : std::numeric_limits<double>::infinity();
}

}  // namespace

bool Advice::is_gain(const Advised& a) const {
  const double gain = std::log(step_time_s / a.step_time_s);
  if (is_partial) return gain >= kLeastShown;
  const double ours = half_width(interval_s);
  const double its = half_width(a.interval_s);
  return gain >= kLeastShown && (ours == its || gain > std::abs(its - ours));
}

namespace {

void add_table(std::string& text, const Advice& advice, const std::vector<Advised>& of) {
  TextTable table({"system", "through", "schedule", "step ms", "less", "domain"});
  for (const Advised& a : of) {
    const double gain = (1 - a.step_time_s / advice.step_time_s) * 100;
    table.add({a.system, a.carried, a.schedule, fmt::format("{:.3f}", a.step_time_s * 1e3),
               gain >= 0 && !advice.is_gain(a) ? "none" : fmt::format("{:.1f} %", gain),
               advice.is_partial ? std::string("-") : std::string(a.domain.word())});
  }
  text += table.text();
}

void add_settings(std::string& text, const Advice& advice, const Advised& a) {
  text += fmt::format("\n{}: {}\n", a.system, a.paste);
  for (const auto& [pointer, value] : a.strategy.items())
    text += fmt::format("  --set '{}={}'\n", pointer, value.dump());
  if (!advice.is_partial && !a.domain.is_validated())
    text += fmt::format("  {}\n", a.domain.text());
}

Json list_of(const Advice& advice, const std::vector<Advised>& of) {
  Json list = Json::array();
  for (const Advised& a : of) {
    list.push_back({{"system", a.system},
                    {"through", a.carried},
                    {"schedule", a.schedule},
                    {"paste", a.paste},
                    {"set", a.strategy},
                    {"step_time_s", a.step_time_s},
                    {"step_time_interval_s",
                     advice.is_partial ? Json() : Json{a.interval_s.low, a.interval_s.high}},
                    {"gain_pct", (1 - a.step_time_s / advice.step_time_s) * 100},
                    {"is_gain", advice.is_gain(a)},
                    {"domain", advice.is_partial ? Json() : Json::parse(a.domain.json())}});
  }
  return list;
}

}  // namespace

std::string Advice::text() const {
  std::string text = fmt::format("{}: a step takes {:.3f} ms; {} other settings were simulated\n\n",
                                 name, step_time_s * 1e3, tried);
  add_table(text, *this, best);
  bool is_any = false;
  for (const Advised& a : best) {
    if (!is_gain(a)) continue;
    add_settings(text, *this, a);
    is_any = true;
  }
  if (!is_any) {
    const bool is_less = !best.empty() && best.front().step_time_s < step_time_s;
    text += is_less ? "\nwhat is gained is less than what the intervals differ by: none\n"
                    : "\nnothing that was tried is faster than what the config has\n";
  }
  for (const Untried& left : left_out) {
    text += fmt::format("\nnot tried: {}, {} settings through {}: {}\n", left.system, left.settings,
                        left.carried, left.reason);
  }
  if (is_partial) text += "\ninterrupted: the best until then\n";
  if (narrower.empty()) return text;
  text += "\nWith numbers in fewer bytes, whose accuracy and conversions are not simulated:\n\n";
  add_table(text, *this, narrower);
  for (const Advised& a : narrower) {
    if (is_gain(a)) add_settings(text, *this, a);
  }
  return text;
}

Json Advice::json() const {
  Json left = Json::array();
  for (const Untried& l : left_out)
    left.push_back({{"system", l.system},
                    {"through", l.carried},
                    {"settings", l.settings},
                    {"reason", l.reason}});
  Json all{{"name", name},
           {"step_time_s", step_time_s},
           {"step_time_interval_s", {interval_s.low, interval_s.high}},
           {"tried", tried},
           {"best", list_of(*this, best)},
           {"narrower", list_of(*this, narrower)},
           {"left_out", left}};
  if (is_partial) all["partial"] = true;
  return all;
}

}  // namespace steptime
