#include "sim/layouts/earliest_rank.h"

#include "sim/layouts/rank_states.h"

#include <algorithm>

namespace steptime {

CallLine::CallLine(LinkTimetable& timetable, const GroupLinks* links) : links_(links) {
  if (links == nullptr) return;
  in_node_ = &timetable.add(links->in_node);
  between_nodes_ = &timetable.add(links->between_nodes);
}

const CallLine::Known& CallLine::known(const Collective& collective, Bytes bytes) {
  const auto [at, is_new] = known_.try_emplace({&collective, bytes.count});
  if (!is_new) return at->second;
  Known& made = at->second;
  made.alone = collective.time(bytes);
  if (links_ != nullptr) made.stages = stages_on(*links_, collective, bytes);
  return made;
}

CallLine::Call CallLine::call(const Collective& collective, Bytes bytes, Time from) {
  const Known& known = this->known(collective, bytes);
  const Time start = std::max(from, over());
  if (known.alone > kMostCounted || since_start(start) > kMostCounted) {
    is_in_range_ = false;
    return {ends_.emplace_back(start), {}};
  }
  Time at = start;
  for (const Stage& stage : known.stages) {
    at += stage.startup;
    (stage.where == Pairs::kInNode ? in_node_ : between_nodes_)->take(at, stage.work);
    at += stage.work;
  }
  return {ends_.emplace_back(start + known.alone), known.alone};
}

void CameAt::grow() {
  std::vector<Time> more(2 * times_.size());
  for (std::int64_t i = first_; i < end_; ++i)
    more[static_cast<std::size_t>(i) & (more.size() - 1)] = time(i);
  times_ = std::move(more);
}

EarliestRank::EarliestRank(const LayoutPlan& plan, const SharedLinks& links,
                           LinkTimetable& timetable, const std::vector<ChunkPasses>& passes,
                           std::span<const Pass> order, std::int32_t place, bool remembers)
    : plan_(plan),
      order_(order),
      place_(place),
      sums_every_micro_batch_(plan.states->sums_every_micro_batch()),
      forward_(outflow(links, timetable, false)),
      backward_(outflow(links, timetable, true)),
      shards_(timetable, shared(links, GroupKind::kShards)),
      replicas_(timetable, shared(links, GroupKind::kReplicas)),
      ends_(timetable, place == 0 ? shared(links, GroupKind::kEnds) : nullptr),
      count_(std::ssize(order)),
      remembers_(remembers) {
  const auto gathering = gathering_of(plan);
  std::vector<std::size_t> units;
  for (const ChunkPasses& chunk : passes) {
    stages_.push_back(chunk.stage);
    buckets_before_.push_back(buckets_before_.empty() ? 0 : buckets_before_.back() + units.back());
    units.push_back(chunk.stage->buckets.size());
  }
  for (const ChunkPasses& chunk : passes)
    learn(chunk, gathering.has_value());
  activations_.resize(passes.size());
  gradients_.resize(passes.size());
  const auto sends = static_cast<std::size_t>(count_ + 1) / 2;
  for (Outflow* flow : {&forward_, &backward_}) {
    if (remembers_) flow->ends.reserve(sends + 1);
    for (LinkTimetable::Line* line : {flow->in_node, flow->between_nodes}) {
      if (line != nullptr && !flow->stages.empty()) line->reserve(sends);
    }
  }
  if (remembers_) made_.reserve(static_cast<std::size_t>(count_));
  if (plan.gathered_boundary.count > 0)
    gather_ = plan.costs(GroupKind::kTensor).all_gather->time(plan.gathered_boundary);
  if (gather_ > kMostCounted) is_in_range_ = false;
  if (!gathering) return;
  units_.emplace(
      *gathering,
      UnitWeights::User{
          .pass = [this](std::int64_t k) { return order_[static_cast<std::size_t>(k)]; },
          .passes = [this] { return count_; },
          .units = std::move(units),
          .is_last = [this](Pass p) { return p.micro_batch + 1 == plan_.micro_batches; },
          .gather =
              [this](std::int32_t c, std::size_t unit) {
                const Bytes weights = stages_[static_cast<std::size_t>(c)]->buckets[unit].weights;
                gathers(weights);
                launch(*plan_.costs(GroupKind::kShards).all_gather, weights);
                return shards_.calls();
              },
          .let_go =
              [this](std::int32_t c, std::size_t unit) {
                gathers(Bytes{} - stages_[static_cast<std::size_t>(c)]->buckets[unit].weights);
              }});
}

/// More weights are there, or less. What is let go as something else is gathered is one change: a
/// step has two for each unit of each pass, which are most of what is kept of it.
void EarliestRank::gathers(Bytes more) {
  if (!gathered_.empty() && gathered_.back().when == at_)
    gathered_.back().more += more;
  else
    gathered_.push_back({at_, more});
}

const GroupLinks* EarliestRank::shared(const SharedLinks& links, GroupKind kind) const {
  return links.are_alone(place_, kind) ? nullptr : &links.of_group(place_, kind);
}

EarliestRank::Outflow EarliestRank::outflow(const SharedLinks& links, LinkTimetable& timetable,
                                            bool back) {
  if (plan_.layout.pipeline() == 1) return {};
  const std::int32_t from = back ? next_to(plan_.layout, place_, true) : place_;
  const Collective& send = *plan_.hop(from).send;
  Outflow flow{.alone = send.time(plan_.boundary)};
  if (flow.alone > kMostCounted) is_in_range_ = false;
  if (links.is_hop_alone(place_, back)) return flow;
  const GroupLinks& shared = links.of_hop(place_, back);
  flow.stages = stages_on(shared, send, plan_.boundary);
  flow.in_node = &timetable.add(shared.in_node);
  flow.between_nodes = &timetable.add(shared.between_nodes);
  return flow;
}

void EarliestRank::join(EarliestRank& before, EarliestRank& after) {
  before_ = &before;
  after_ = &after;
  const std::int32_t places = plan_.layout.pipeline();
  const auto stages = static_cast<std::int32_t>(plan_.stages.size());
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    Kind& kind = kinds_[k];
    const auto chunk = k / kWays;
    const std::int32_t stage = static_cast<std::int32_t>(chunk) * places + place_;
    const auto way = static_cast<Way>(k % kWays);
    if (way == kWeight || way == kLastWeight) continue;
    const bool is_forward = way == kForward || way == kFirstForward;
    if (is_forward ? stage > 0 : stage + 1 < stages) {
      kind.comes = &(is_forward ? activations_ : gradients_)[chunk];
      kind.travels = is_forward ? before.forward_.alone : after.backward_.alone;
    }
    const std::int32_t next = is_forward ? stage + 1 : stage - 1;
    if (next < 0 || next == stages) continue;
    kind.out = is_forward ? &forward_ : &backward_;
    kind.receiver = is_forward ? &after : &before;
    kind.to = &(is_forward ? kind.receiver->activations_
                           : kind.receiver->gradients_)[static_cast<std::size_t>(next / places)];
  }
}

/// The chunk's ways.
void EarliestRank::learn(const ChunkPasses& chunk, bool has_units) {
  const StageWork& stage = *chunk.stage;
  const bool has_calls = plan_.sharers() > 1;
  const bool waits = steptime::gathers_updates(plan_);
  const std::array<Kind, kWays> kinds{
      Kind{.segments = &chunk.forward, .activations = stage.kept, .logits = stage.logits},
      Kind{.segments = &chunk.forward_of(0),
           .is_plain = !waits,
           .activations = stage.kept,
           .logits = stage.logits},
      Kind{.segments = &chunk.backward,
           .activations = stage.working,
           .let_go = stage.working + stage.kept,
           .logits_let_go = stage.logits},
      Kind{.sums = true,
           .segments = &chunk.last_backward,
           .is_plain = !has_calls,
           .activations = stage.working,
           .let_go = stage.working + stage.kept,
           .logits_let_go = stage.logits},
      Kind{.segments = &chunk.input,
           .is_plain = !waits,
           .activations = stage.working,
           .let_go = stage.working},
      Kind{.segments = &chunk.weight, .let_go = stage.kept, .logits_let_go = stage.logits},
      Kind{.sums = true,
           .segments = &chunk.last_weight,
           .is_plain = !has_calls,
           .let_go = stage.kept,
           .logits_let_go = stage.logits}};
  for (Kind kind : kinds) {
    kind.is_plain = kind.is_plain && !has_units;
    for (const Segment& segment : *kind.segments)
      kind.length += segment.length;
    kinds_.push_back(kind);
  }
}

void EarliestRank::count(GroupKind kind, Bytes bytes, Duration alone, std::int64_t times) {
  bytes_[static_cast<std::size_t>(kind)] += bytes.count * times;
  exchanging_ += alone * times;
  exchanges_ += times;
}

/// Among ranks that share states.
void EarliestRank::launch(const Collective& collective, Bytes bytes) {
  const CallLine::Call call = shards_.call(collective, bytes, at_);
  count(GroupKind::kShards, bytes, call.alone);
  const std::int64_t shards = plan_.shard_group();
  if (&collective == plan_.costs(GroupKind::kShards).all_gather.get() || shards == plan_.sharers())
    return;
  sum_over_replicas(bytes, call.end);
}

/// Of what each shard group has summed at `from`, each rank's part.
void EarliestRank::sum_over_replicas(Bytes bytes, Time from) {
  const std::int64_t shards = plan_.shard_group();
  const Bytes part{(bytes.count + shards - 1) / shards};
  count(GroupKind::kReplicas, part,
        replicas_.call(*plan_.costs(GroupKind::kReplicas).all_reduce, part, from).alone);
}

void EarliestRank::make_buckets(std::int32_t chunk, std::size_t from, std::size_t to) {
  if (plan_.sharers() == 1) return;
  const GroupCosts& costs = plan_.costs(GroupKind::kShards);
  const bool in_parts = plan_.states->sum() == Operation::kReduceScatter;
  const bool is_whole = plan_.shard_group() == 1;  // a rank holds all
  for (std::size_t b = from; b < to; ++b) {
    const Bytes bytes = stages_[static_cast<std::size_t>(chunk)]->buckets[b].bytes;
    if (is_whole)
      sum_over_replicas(bytes, at_);
    else
      launch(in_parts ? *costs.reduce_scatter : *costs.all_reduce, bytes);
  }
}

void EarliestRank::gathers_updates() {
  if (units_) units_->start();
  if (!steptime::gathers_updates(plan_)) return;
  for (const StageWork* stage : stages_) {
    for (std::size_t b = stage->buckets.size(); b-- > 0;) {
      launch(*plan_.costs(GroupKind::kShards).all_gather, stage->buckets[b].weights);
      ++updates_;
    }
  }
  if (!plan_.beside.weights) wait_until(shards_.over(), Spent::kWeights);
}

EarliestRank::Way EarliestRank::way_of(Pass pass) const {
  const bool is_last = pass.micro_batch + 1 == plan_.micro_batches;
  switch (pass.kind) {
    case PassKind::kForward:
      return pass.micro_batch == 0 ? kFirstForward : kForward;
    case PassKind::kBackward:
      return is_last || sums_every_micro_batch_ ? kLastBackward : kBackward;
    case PassKind::kInputGradient:
      return kInput;
    default:
      return is_last || sums_every_micro_batch_ ? kLastWeight : kWeight;
  }
}

/// False: it has not come yet.
bool EarliestRank::receive(const Kind& kind, std::int32_t micro_batch) {
  if (!kind.comes->has(micro_batch)) {
    waits_for_ = kind.comes;
    return false;
  }
  ++received_;
  const Time came = kind.comes->use(micro_batch);
  if (came <= at_) return true;
  const Duration travelled = std::min(came - at_, kind.travels);
  spend(Spent::kPipeline, travelled);
  wait_until(came - travelled, Spent::kBubble);
  at_ = came;
  return true;
}

/// As StageRank::works_through does.
void EarliestRank::work_through(Pass pass, const Kind& kind) {
  const auto chunk = static_cast<std::size_t>(pass.chunk);
  const std::size_t buckets = stages_[chunk]->buckets.size();
  const bool is_backward =
      pass.kind == PassKind::kBackward || pass.kind == PassKind::kWeightGradient;
  std::size_t made = 0;
  for (const Segment& segment : *kind.segments) {
    const bool visits = units_ && segment.needs < buckets && pass.kind != PassKind::kWeightGradient;
    std::int64_t call = visits ? units_->begin() : -1;
    if (updates_ > 0 && !is_backward && pass.micro_batch == 0 && segment.needs < buckets)
      call = static_cast<std::int64_t>(buckets_before_[chunk] + buckets - segment.needs);
    if (call > 0) wait_until(shards_.end_of(call), Spent::kWeights);
    at_ += segment.length;
    if (kind.sums && plan_.beside.gradients && segment.makes > made) {
      make_buckets(pass.chunk, made, segment.makes);
      made = segment.makes;
    }
    if (visits) units_->end();
  }
}

/// As StageRank's does.
void EarliestRank::sums_by_itself(std::int32_t chunk) {
  make_buckets(chunk, 0, stages_[static_cast<std::size_t>(chunk)]->buckets.size());
  wait_until(shards_.over(), Spent::kGradients);
  wait_until(replicas_.over(), Spent::kGradients);
}

void EarliestRank::send(const Pass& pass, const Kind& kind, std::vector<EarliestRank*>& woken) {
  Outflow& flow = *kind.out;
  const Time start = std::max(at_, flow.over);
  Time at = start;
  for (const Stage& part : flow.stages) {
    at += part.startup;
    (part.where == Pairs::kInNode ? flow.in_node : flow.between_nodes)->take(at, part.work);
    at += part.work;
  }
  flow.over = start + flow.alone;
  ++flow.sent;
  if (remembers_) flow.ends.push_back(flow.over);
  kind.to->add(flow.over);
  if (kind.receiver->waits_for_ == kind.to) {
    kind.receiver->waits_for_ = nullptr;
    woken.push_back(kind.receiver);
  }
  if (!plan_.beside.has_send_of(pass)) wait_until(flow.over, Spent::kPipeline);
}

void EarliestRank::go_on(std::vector<EarliestRank*>& woken) {
  const bool sums_by_itself = !plan_.beside.gradients && sums_every_micro_batch_;
  for (; is_in_range_ && next_ < count_; ++next_) {
    const Pass pass = order_[static_cast<std::size_t>(next_)];
    const auto number = static_cast<std::uint32_t>(pass.chunk * kWays + way_of(pass));
    Kind& kind = kinds_[number];
    const bool receives = kind.comes != nullptr;
    if (receives && !receive(kind, pass.micro_batch)) return;
    ++kind.made;
    const Time received = at_;
    if (receives) at_ += gather_;
    if (kind.is_plain) {
      at_ += kind.length;
    } else {
      work_through(pass, kind);
      if (!calls_are_in_range()) is_in_range_ = false;
    }
    if (remembers_) made_.push_back({received, at_, number, receives});
    if (kind.sums && sums_by_itself) {
      this->sums_by_itself(pass.chunk);
      if (!calls_are_in_range()) is_in_range_ = false;
    }
    if (kind.out != nullptr) send(pass, kind, woken);
    const Time latest = kind.out == nullptr ? at_ : std::max(at_, kind.out->over);
    if (since_start(latest) > kMostCounted) is_in_range_ = false;
  }
}

void EarliestRank::sums_gradients() {
  if (!plan_.beside.gradients && !plan_.states->sums_every_micro_batch()) {
    for (std::size_t c = 0; c < stages_.size(); ++c)
      make_buckets(static_cast<std::int32_t>(c), 0, stages_[c]->buckets.size());
  }
  wait_until(shards_.over(), Spent::kGradients);
  wait_until(replicas_.over(), Spent::kGradients);
}

Time EarliestRank::sums_ends(Time from) {
  return ends_.call(*plan_.costs(GroupKind::kEnds).all_reduce, plan_.tied, from).end;
}

void EarliestRank::ends_are_summed(Time end) {
  count(GroupKind::kEnds, plan_.tied, plan_.costs(GroupKind::kEnds).all_reduce->time(plan_.tied));
  wait_until(end, Spent::kGradients);
}

bool EarliestRank::has_waited_for_replicas() const {
  return units_ || updates_ > 0 || (!plan_.beside.gradients && sums_every_micro_batch_);
}

Duration EarliestRank::update_alone() const {
  return update_time(plan_, place_, 1);
}

void EarliestRank::ends_step(Time all_there) {
  wait_until(all_there, Spent::kBubble);
  const Duration update = update_time(plan_, place_, plan_.parts().optimizer);
  spend(Spent::kOptimizer, update);
  at_ += update;
  for (Outflow* flow : {&forward_, &backward_})
    flow->ends.push_back(Time::max());
  gathered_.push_back({Time::max(), {}});
}

/// What it holds over the step: what comes is there before it is used.
RankMemory EarliestRank::remember() const {
  RankMemory memory;
  hold_states(memory, plan_, place_, {});
  // Of what is not reached yet; each ends with one that never comes.
  static constexpr Time kNothing = Time::max();
  const bool has_neighbours = before_ != this;
  const Time* forward = has_neighbours ? before_->forward_.ends.data() : &kNothing;
  const Time* backward = has_neighbours ? after_->backward_.ends.data() : &kNothing;
  const Change* change = gathered_.data();
  const auto first = [&] { return std::min({*forward, *backward, change->when}); };
  Time next = first();
  const auto reach = [&](Time time) {
    for (; next <= time; next = first()) {
      // What comes at the instant of a change is there before it.
      if (*forward == next || *backward == next) {
        memory.acquire(HeldFor::kBuffers, plan_.boundary, next);
        ++(*forward == next ? forward : backward);
      } else {
        memory.acquire(HeldFor::kGathered, change->more, next);
        ++change;
      }
    }
  };
  for (const Made& made : made_) {
    const Kind& kind = kinds_[made.kind];
    Time begin = made.received;
    reach(begin);
    if (made.receives) {
      memory.release(HeldFor::kBuffers, plan_.boundary, begin);
      if (gather_ > Duration{}) reach(begin += gather_);
    }
    memory.acquire(HeldFor::kActivations, kind.activations, begin);
    memory.acquire(HeldFor::kLogits, kind.logits, begin);
    reach(made.end);
    memory.release(HeldFor::kActivations, kind.let_go, made.end);
    memory.release(HeldFor::kLogits, kind.logits_let_go, made.end);
  }
  return memory;
}

StageTimes EarliestRank::times() {
  for (const Kind& kind : kinds_) {
    for (const Segment& segment : *kind.segments) {
      for (std::size_t i = 0; i < kSpent; ++i)
        spent_[i] += segment.spent[i] * kind.made;
      for (std::size_t i = 0; i < kGroupKinds; ++i)
        bytes_[i] += segment.bytes[i] * kind.made;
      exchanging_ += segment.exchanging * kind.made;
      exchanges_ += segment.exchanges * kind.made;
    }
  }
  for (const Outflow* flow : {&forward_, &backward_})
    count(GroupKind::kPipeline, plan_.boundary, flow->alone, flow->sent);
  if (plan_.gathered_boundary.count > 0) {
    count(GroupKind::kTensor, plan_.gathered_boundary, gather_, received_);
    spend(Spent::kTensor, gather_ * received_);
  }
  const RankMemory memory = remember();
  const RankMemory::Peak peak = memory.peak();
  return {.end = since_start(at_),
          .spent = spent_,
          .bytes = bytes_,
          .exchanging = exchanging_,
          .exchanges = exchanges_,
          .peak = peak.bytes,
          .at_peak = peak.parts,
          .peak_at = since_start(peak.since),
          .left = memory.held()};
}

}  // namespace steptime
