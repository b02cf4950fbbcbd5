#include "netmodels/rounds.h"

#include <algorithm>
#include <utility>

namespace steptime {

void RoundSum::add(double count, const RoundTime& time, double share, double reduced) {
  in_step_ = in_step_ && time.even;
  terms_.push_back({count, time.slowest, share, reduced, where_});
}

void RoundSum::add_ring(double count, const RoundTime& time, double share, double reduced) {
  in_step_ = in_step_ && (time.even || time.apart);
  terms_.push_back({count, time.slowest, share, reduced, where_});
}

void RoundSum::add_binomial(const RoundLinks& links, bool reduces) {
  for (std::int64_t distance = 1; distance < links.workers(); distance *= 2)
    add(1, links.tree(distance), 1, reduces ? 1 : 0);
}

/// `round`: what the ranks that have not folded do at each distance.
void RoundSum::add_folded(const RoundLinks& links,
                          const std::function<void(std::int64_t distance)>& round) {
  const std::int64_t cores = unfolded(links.workers());
  const bool folds = cores < links.workers();
  if (folds) add(1, links.fold(), 1, 1);
  for (std::int64_t distance = 1; distance < cores; distance *= 2)
    round(distance);
  if (folds) add(1, links.fold(), 1, 0);
}

void RoundSum::add_doubling(const RoundLinks& links) {
  add_folded(links, [&](std::int64_t distance) { add(1, links.swap(distance), 1, 1); });
}

void RoundSum::add_halving(const RoundLinks& links, bool nearest_first) {
  const auto cores = static_cast<double>(unfolded(links.workers()));
  add_folded(links, [&](std::int64_t distance) {
    const auto apart = static_cast<double>(distance);
    const double share = nearest_first ? .5 / apart : apart / cores;
    const RoundTime time = links.swap(distance);
    add(1, time, share, share);
    add(1, time, share, 0);
  });
}

double RoundSum::Term::seconds(double bytes, TimePerByte gamma) const {
  return count * (slowest.seconds(share * bytes) + reduced * gamma.seconds_per_byte * bytes);
}

double RoundSum::seconds(double bytes) const {
  double sum = 0;
  for (const Term& term : terms_)
    sum += term.seconds(bytes, gamma_);
  return sum;
}

std::vector<RoundSum::Row> RoundSum::rows(double bytes) const {
  std::vector<Row> rows;
  for (const Term& term : terms_) {
    if (term.count == 0) continue;
    if (rows.empty() || rows.back().where != term.where) rows.push_back({term.where});
    rows.back().seconds += term.seconds(bytes, gamma_);
    rows.back().sums += term.count * term.reduced * gamma_.seconds_per_byte * bytes;
  }
  return rows;
}

double RoundSum::sums_per_byte() const {
  double sum = 0;
  for (const Term& term : terms_)
    sum += term.count * term.reduced * gamma_.seconds_per_byte;
  return sum;
}

std::optional<LinearCost> RoundSum::linear() const {
  double a = 0;
  double b = 0;
  for (const Term& term : terms_) {
    const auto line = term.slowest.line();
    if (!line) return std::nullopt;
    a += term.count * line->alpha;
    b += term.count * (term.share * line->beta + term.reduced * gamma_.seconds_per_byte);
  }
  return LinearCost{from_seconds(a), {b}};
}

namespace {

/// So many that start-ups do not count.
constexpr std::int64_t kManyBytes = std::int64_t{1} << 36;

/// Several programs are played without sums, and then add up those of one of them, or else all sums
/// take longer: which of two slices a rank adds first depends on a picosecond, and what is played
/// with sums would jump with the bandwidth.
std::optional<LinearCost> line_through_messages(const CollectiveOfRounds::MakePrograms& make,
                                                const RoundLinks& links, const RoundSum& sum) {
  const Programs programs = make({0, kManyBytes});
  const bool plays_sums = programs.size() == 1;
  const TimePerByte gamma = plays_sums ? sum.gamma() : TimePerByte{};
  const auto none = links.played(make({0, 0}), gamma);
  const auto many = links.played(programs, gamma);
  if (!none || !many) return std::nullopt;
  const double played = to_seconds(*many - *none) / static_cast<double>(kManyBytes);
  if (plays_sums) return LinearCost{*none, {played}};
  const double sums = sum.sums_per_byte();
  return LinearCost{*none, {std::max(played + sums / static_cast<double>(programs.size()), sums)}};
}

double messages_of(const Programs& programs) {
  double messages = 0;
  for (const auto& program : programs)
    messages += program->messages();
  return messages;
}

}  // namespace

CollectiveOfRounds::CollectiveOfRounds(RoundSum sum, const RoundLinks& links, MakePrograms programs,
                                       Operation operation)
    : MessageCollective(links.cluster()),
      sum_(std::move(sum)),
      linear_(sum_.linear()),
      left_out_(what_is_left_out(links, sum_.exact())),
      programs_(std::move(programs)),
      operation_(operation),
      is_of_many_(links.workers() > kMostPlayed) {
  if (!programs_ || sum_.in_step()) return;
  if (is_of_many_ && messages_of(programs_({0, 0})) > kMostMessages) return;
  const auto line = line_through_messages(programs_, links, sum_);
  if (!line) return;
  linear_ = line;
  is_of_many_ = false;
}

Duration CollectiveOfRounds::time(Bytes m) const {
  return linear_ ? linear_->time(m) : from_seconds(sum_.seconds(static_cast<double>(m.count)));
}

Programs CollectiveOfRounds::programs(Bytes m) const {
  return programs_ ? programs_({0, m.count}) : Programs{};
}

std::optional<ErrorBound> CollectiveOfRounds::error_bound() const {
  if (sum_.exact()) return std::nullopt;
  return is_of_many_ && !sum_.overlaps() ? sum_.of_many() : sum_.estimate();
}

std::vector<Stage> CollectiveOfRounds::stages(Bytes m) const {
  const auto rows = sum_.rows(static_cast<double>(m.count));
  const auto startups = sum_.rows(0);
  // Each row has its share of the whole, which is the sum of the rows but where messages were
  // played, and of the start-up, which is no longer than the row.
  const double all = sum_.seconds(static_cast<double>(m.count));
  const double all_startups = sum_.seconds(0);
  const auto share = [](Duration whole, double part, double of) {
    return of > 0 ? from_seconds(to_seconds(whole) * part / of) : Duration{};
  };
  std::vector<Stage> stages;
  if (rows.size() <= 1) stages = MessageCollective::stages(m);
  Duration left = time(m);
  for (std::size_t i = 0; i < rows.size() && rows.size() > 1; ++i) {
    const Duration mine =
        i + 1 == rows.size() ? left : std::min(left, share(time(m), rows[i].seconds, all));
    const Duration startup =
        std::min(mine, share(this->startup(), startups[i].seconds, all_startups));
    stages.push_back({rows[i].where, startup, mine - startup});
    left -= mine;
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    stages[i].sum = std::min(stages[i].work, share(time(m), rows[i].sums, all));
  return stages;
}

std::string what_is_left_out(const RoundLinks& links, bool exact) {
  if (links.leaves_out_fabric())
    return "the closed form takes the fabric for one switch; \"message\" fidelity does not";
  if (exact) return "";
  return "ranks fall out of step, which the closed form only estimates; \"message\" fidelity plays "
         "every message";
}

}  // namespace steptime
