#include "sim/layouts/stage_rank.h"

#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/layouts/rank_states.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace steptime {
StageRank::StageRank(LayoutRun& run, std::int32_t rank, std::size_t program)
    : run_(run),
      rank_(rank),
      place_(run.plan.place(rank)),
      program_(program),
      sums_by_itself_(!run.plan.beside.gradients && run.plan.states->sums_every_micro_batch()),
      gpu_(run.roads.gpu(rank)),
      drawing_(run.world,
               rank == run.plan.group(GroupKind::kPipeline, 0)[static_cast<std::size_t>(place_)]
                   ? run.timeline
                   : nullptr,
               place_),
      forward_(run.world, {"activations from rank", rank}, run.roads.neighbour(rank, false),
               run.repetition.line(place_), drawing_, "activations"),
      backward_(run.world, {"gradients from rank", rank}, run.roads.neighbour(rank, true),
                run.repetition.line(place_), drawing_, "gradients") {
  for (const GroupKind kind : {GroupKind::kTensor, GroupKind::kContext}) {
    const auto at = static_cast<std::size_t>(kind);
    are_alone_[at] =
        takes(FastPath::kCollectivesAlone, gpu_ == nullptr && run.roads.are_alone(rank, kind));
    // A timeline shows those that may meet others.
    are_among_own_[at] =
        takes(FastPath::kCollectivesAlone,
              gpu_ == nullptr && !drawing_.is_on() && run.roads.are_among_own(rank, kind));
  }
  const auto gathering = gathering_of(plan());
  std::vector<std::size_t> units;
  for (std::int32_t c = 0; c < plan().order->chunks(); ++c) {
    const StageWork& stage = plan().stage(place_, c);
    units.push_back(stage.buckets.size());
    chunks_.push_back(
        {.stage = &stage,
         .passes = &run.passes[static_cast<std::size_t>(place_)][static_cast<std::size_t>(c)],
         .activations = std::make_unique<Arrivals>(
             run.world, Name{"activations for chunk", c, "rank", rank}, [this] { return doing(); }),
         .gradients = std::make_unique<Arrivals>(
             run.world, Name{"gradients for chunk", c, "rank", rank}, [this] { return doing(); })});
  }
  if (drawing_.is_on()) {
    memory_.tell([this](std::int64_t held, Time since) { drawing_.holds(held, since); });
  }
  hold_states(memory_, plan(), place_, run.world.now());
  if (!gathering) return;
  units_.emplace(
      *gathering,
      UnitWeights::User{
          .pass = [this](std::int64_t k) { return run_.repetition.pass(place_, k); },
          .passes = [this] { return passes(); },
          .units = std::move(units),
          .is_last = [this](Pass pass) { return is_last(pass); },
          .gather =
              [this](std::int32_t c, std::size_t unit) {
                const Bytes weights = plan().stage(place_, c).buckets[unit].weights;
                memory_.acquire(HeldFor::kGathered, weights, run_.world.now());
                launch(GroupKind::kShards, *plan().costs(GroupKind::kShards).all_gather, weights);
                const Seat& shards = called(GroupKind::kShards);
                return shards.group->calls(shards.member);
              },
          .let_go =
              [this](std::int32_t c, std::size_t unit) {
                memory_.release(HeldFor::kGathered, plan().stage(place_, c).buckets[unit].weights,
                                run_.world.now());
              }});
}

void StageRank::Computing::await_suspend(Suspended program) const {
  World& world = me.run_.world;
  if (me.gpu_ != nullptr) {
    return me.gpu_->compute(work, Phase::kNormal,
                            Callback::of([program] { World::resume(program); }));
  }
  world.wake(program, world.engine.until(world.present(), work, Reason{}), Phase::kNormal);
}

bool StageRank::passes_as_time(GroupKind kind) const {
  const auto at = static_cast<std::size_t>(kind);
  return are_alone_[at] || (are_among_own_[at] && !has_calls_under_way());
}

/// Beside which those of passes might be on one link. It calls no others within a segment, and
/// those within one go one after another.
bool StageRank::has_calls_under_way() const {
  const auto is_under_way = [this](GroupKind kind) {
    const Seat& seat = called(kind);
    return seat.group != nullptr && seat.group->has_open();
  };
  return is_under_way(GroupKind::kShards) || is_under_way(GroupKind::kReplicas);
}

void StageRank::spend(Spent what, Time since) {
  spend(what, run_.world.now() - since);
}

void StageRank::spend(Spent what, Duration length) {
  spent_[static_cast<std::size_t>(what)] += length;
  run_.repetition.counts(place_);
}

void StageRank::spend(const TimesSpent& spent) {
  for (std::size_t i = 0; i < kSpent; ++i)
    spent_[i] += spent[i];
  run_.repetition.counts(place_);
}

const Seat& StageRank::seat(GroupKind kind) {
  Seat& seat = seats_[static_cast<std::size_t>(kind)];
  if (seat.group == nullptr) {
    seat = run_.roads.seat(rank_, kind);
    drawing_.watch(*seat.group, kind);
    if (run_.repetition.looks()) {
      Repetition::Line& line = run_.repetition.line(place_);
      lines_[static_cast<std::size_t>(kind)] = &line;
      seat.group->watch(&line);
    }
  }
  return seat;
}

void StageRank::launch(GroupKind kind, const Collective& collective, Bytes bytes) {
  count(kind, bytes, alone(collective, bytes));
  const auto ways = plan().costs(kind).all();
  const auto way =
      static_cast<std::size_t>(std::find(ways.begin(), ways.end(), &collective) - ways.begin());
  const Seat& in = seat(kind);
  if (Repetition::Line* const line = lines_[static_cast<std::size_t>(kind)]) line->called();
  // What a shard group has summed is then summed over its replicas.
  const bool is_part = kind == GroupKind::kShards &&
                       &collective != plan().costs(kind).all_gather.get() &&
                       plan().shard_group() != plan().sharers();
  if (!is_part) return in.group->launch(in.member, bytes, way);
  in.group->launch(
      in.member, {.bytes = bytes, .medium = way}, run_.world.now(),
      {[](void* self, std::uint64_t sum) {
         static_cast<StageRank*>(self)->sum_over_replicas({static_cast<std::int64_t>(sum)});
       },
       this, static_cast<std::uint64_t>(bytes.count)});
}

Duration StageRank::alone(const Collective& collective, Bytes bytes) {
  for (const KnownTime& known : known_) {
    if (known.collective == &collective && known.bytes == bytes) return known.time;
  }
  return known_.emplace_back(KnownTime{&collective, bytes, collective.time(bytes)}).time;
}

void StageRank::sum_over_replicas(Bytes bytes) {
  const std::int64_t shards = plan().shard_group();
  launch(GroupKind::kReplicas, *plan().costs(GroupKind::kReplicas).all_reduce,
         {(bytes.count + shards - 1) / shards});
}

void StageRank::count(GroupKind kind, Bytes bytes, Duration alone) {
  bytes_[static_cast<std::size_t>(kind)] += bytes.count;
  exchanging_ += alone;
  ++exchanges_;
}

Pass StageRank::begin(std::int64_t k) {
  pass_ = k;
  run_.repetition.begins(place_, k);
  return run_.repetition.pass(place_, k);
}

std::string StageRank::doing() const {
  if (pass_ < 0) return "step";
  const Pass pass = run_.repetition.pass(place_, pass_);
  return fmt::format("pass {}, {} of micro-batch {} in chunk {}", pass_, name_of(pass.kind),
                     pass.micro_batch, pass.chunk);
}

Task StageRank::gathers_updates() {
  if (units_) units_->start();
  if (!steptime::gathers_updates(plan())) co_return;
  for (const Chunk& chunk : chunks_) {
    for (std::size_t b = chunk.stage->buckets.size(); b-- > 0;) {
      launch(GroupKind::kShards, *plan().costs(GroupKind::kShards).all_gather,
             chunk.stage->buckets[b].weights);
      ++updates_;
    }
  }
  if (plan().beside.weights || updates_ == 0) co_return;
  const Time since = run_.world.now();
  co_await over(GroupKind::kShards);
  spend(Spent::kWeights, since);
}

Task StageRank::receives(Pass pass, Arrivals& from, const PipelineLink& link, bool comes) {
  if (!comes) co_return;
  World& world = run_.world;
  const Time since = world.now();
  co_await from.at_least(pass.micro_batch + 1);
  from.take();
  const Duration waited = world.now() - since;
  const Duration travelled = std::min(waited, world.now() - link.last_start());
  spend(Spent::kPipeline, waited > Duration{} ? travelled : Duration{});
  spend(Spent::kBubble, waited > Duration{} ? waited - travelled : Duration{});
  memory_.release(HeldFor::kBuffers, plan().boundary, world.now());
  const Bytes whole = plan().gathered_boundary;
  if (whole.count == 0) co_return;
  const Collective& gather = *plan().costs(GroupKind::kTensor).all_gather;
  co_await exchanges(
      {.exchange = {GroupKind::kTensor, &gather, whole}, .alone = alone(gather, whole)});
}

Task StageRank::receives_activations(Pass pass) {
  return receives(pass, *chunk(pass).activations, before_->forward_, stage_of(pass) > 0);
}

Task StageRank::receives_gradients(Pass pass) {
  return receives(pass, *chunk(pass).gradients, after_->backward_,
                  stage_of(pass) + 1 < static_cast<std::int32_t>(plan().stages.size()));
}

Task StageRank::exchanges(const Leg& leg) {
  World& world = run_.world;
  const Time since = world.now();
  const GroupCall& call = leg.exchange;
  Duration slowed{};
  if (are_alone_[static_cast<std::size_t>(call.group)]) {
    count(call.group, call.bytes, leg.alone);
    co_await lasts(std::max(leg.compute, leg.alone));
  } else {
    launch(call.group, *call.collective, call.bytes);
    if (leg.compute > Duration{}) slowed = co_await computes(leg.compute);
    co_await over(call.group);
  }
  spend(leg.what, leg.compute);
  spend(Spent::kOverlap, slowed);
  spend(spent_on(call.group), world.now() - since - leg.compute - slowed);
}

/// Leg by leg, as long as what has been called before may be on the legs' links.
Task StageRank::works(const Segment& segment) {
  for (std::size_t l = 0; l < segment.legs.size(); ++l) {
    if (passes_as_time()) {
      const Segment& left = rest(segment, l);
      co_await lasts(left.length);
      went_by(left);
      co_return;
    }
    const Leg& leg = *segment.legs[l];
    if (leg.exchange.collective != nullptr) {
      co_await exchanges(leg);
      continue;
    }
    spend(Spent::kOverlap, co_await computes(leg.compute));
    spend(leg.what, leg.compute);
    if (leg.what != Spent::kScales) continue;
    exchanging_ += leg.compute;
    ++exchanges_;
  }
}

const Segment& StageRank::rest(const Segment& segment, std::size_t over) {
  if (over == 0) return segment;
  const auto [at, is_new] = rests_.try_emplace({&segment, over});
  if (is_new) at->second = rest_of(segment, over);
  return at->second;
}

void StageRank::went_by(const Segment& segment) {
  const auto by_itself = [this](GroupKind kind) {
    return are_alone_[static_cast<std::size_t>(kind)];
  };
  if (!by_itself(GroupKind::kTensor) || !by_itself(GroupKind::kContext))
    run_.roads.passed(rank_, segment);
  spend(segment.spent);
  for (std::size_t i = 0; i < kGroupKinds; ++i)
    bytes_[i] += segment.bytes[i];
  exchanging_ += segment.exchanging;
  exchanges_ += segment.exchanges;
}

/// Buckets whose gradients are there are summed up, or wait until nothing is computed any more.
void StageRank::make_buckets(Pass pass, std::size_t from, std::size_t to) {
  if (plan().sharers() == 1) return;
  const GroupCosts& costs = plan().costs(GroupKind::kShards);
  const bool in_parts = plan().states->sum() == Operation::kReduceScatter;
  const bool is_whole = plan().shard_group() == 1;  // a rank holds all
  for (std::size_t b = from; b < to; ++b) {
    const Bytes bytes = chunk(pass).stage->buckets[b].bytes;
    if (is_whole)
      sum_over_replicas(bytes);
    else
      launch(GroupKind::kShards, in_parts ? *costs.reduce_scatter : *costs.all_reduce, bytes);
  }
}

Task StageRank::works_through(Pass pass, const std::vector<Segment>& segments, bool is_backward) {
  Chunk& in = chunk(pass);
  const std::size_t buckets = in.stage->buckets.size();
  const bool makes = is_backward && sums(pass);
  std::size_t made = 0;
  for (const Segment& segment : segments) {
    const bool visits = units_ && segment.needs < buckets && pass.kind != PassKind::kWeightGradient;
    std::int64_t call = visits ? units_->begin() : -1;
    if (updates_ > 0 && !is_backward && pass.micro_batch == 0 && segment.needs < buckets) {
      call = static_cast<std::int64_t>(buckets - segment.needs);
      for (std::int32_t c = 0; c < pass.chunk; ++c)
        call +=
            static_cast<std::int64_t>(chunks_[static_cast<std::size_t>(c)].stage->buckets.size());
    }
    if (call > 0) {
      const Time since = run_.world.now();
      co_await called(GroupKind::kShards).group->ended(call);
      spend(Spent::kWeights, since);
    }
    if (passes_as_time()) {
      co_await lasts(segment.length);
      went_by(segment);
    } else {
      co_await works(segment);
    }
    if (makes && plan().beside.gradients && segment.makes > made) {
      make_buckets(pass, made, segment.makes);
      made = segment.makes;
    }
    if (visits) units_->end();
  }
}

/// Gradients of a micro-batch that nothing is computed beside.
Task StageRank::sums_by_itself(Pass pass) {
  const Time since = run_.world.now();
  make_buckets(pass, 0, chunk(pass).stage->buckets.size());
  for (const GroupKind kind : {GroupKind::kShards, GroupKind::kReplicas}) {
    if (called(kind).group != nullptr) co_await over(kind);
  }
  spend(Spent::kGradients, since);
}

Task StageRank::forward(Pass pass) {
  const Time since = run_.world.now();
  Chunk& in = chunk(pass);
  memory_.acquire(HeldFor::kActivations, in.stage->kept, since);
  memory_.acquire(HeldFor::kLogits, in.stage->logits, since);
  co_await works_through(pass, in.passes->forward_of(pass.micro_batch), false);
  drawing_.pass(pass, since);
}

Task StageRank::backward(Pass pass) {
  const Time since = run_.world.now();
  Chunk& in = chunk(pass);
  memory_.acquire(HeldFor::kActivations, in.stage->working, since);
  co_await works_through(pass, sums(pass) ? in.passes->last_backward : in.passes->backward, true);
  memory_.release(HeldFor::kActivations, in.stage->working + in.stage->kept, run_.world.now());
  memory_.release(HeldFor::kLogits, in.stage->logits, run_.world.now());
  drawing_.pass(pass, since);
  if (sums_by_itself_) co_await sums_by_itself(pass);
}

Task StageRank::input_gradient(Pass pass) {
  const Time since = run_.world.now();
  Chunk& in = chunk(pass);
  memory_.acquire(HeldFor::kActivations, in.stage->working, since);
  co_await works_through(pass, in.passes->input, false);
  memory_.release(HeldFor::kActivations, in.stage->working, run_.world.now());
  drawing_.pass(pass, since);
}

Task StageRank::weight_gradient(Pass pass) {
  const Time since = run_.world.now();
  Chunk& in = chunk(pass);
  co_await works_through(pass, sums(pass) ? in.passes->last_weight : in.passes->weight, true);
  memory_.release(HeldFor::kActivations, in.stage->kept, run_.world.now());
  memory_.release(HeldFor::kLogits, in.stage->logits, run_.world.now());
  drawing_.pass(pass, since);
  if (sums_by_itself_) co_await sums_by_itself(pass);
}

Task StageRank::sends(Pass pass, PipelineLink& link, Arrivals* to, StageRank& receiver) {
  if (to == nullptr) co_return;
  const Bytes bytes = plan().boundary;
  if (&receiver == this) {  // two chunks of one rank
    memory_.acquire(HeldFor::kBuffers, bytes, run_.world.now());
    to->add();
    co_return;
  }
  const Hop& hop = plan().hop(&link == &forward_ ? place_ : before_->place_);
  count(GroupKind::kPipeline, bytes, alone(*hop.send, bytes));
  link.send(bytes, *to, receiver.memory_);
  if (plan().beside.has_send_of(pass)) co_return;
  const Time since = run_.world.now();
  co_await link.over();
  spend(Spent::kPipeline, since);
}

Task StageRank::sends_activations(Pass pass) {
  const std::int32_t next = stage_of(pass) + 1;
  const bool is_last = next == static_cast<std::int32_t>(plan().stages.size());
  const auto place = static_cast<std::size_t>(next / plan().layout.pipeline());
  return sends(pass, forward_, is_last ? nullptr : after_->chunks_[place].activations.get(),
               *after_);
}

Task StageRank::sends_gradients(Pass pass) {
  const std::int32_t next = stage_of(pass) - 1;
  const auto place = static_cast<std::size_t>(next / plan().layout.pipeline());
  return sends(pass, backward_, next < 0 ? nullptr : before_->chunks_[place].gradients.get(),
               *before_);
}

Task StageRank::sums_gradients() {
  World& world = run_.world;
  if (!plan().beside.gradients && !plan().states->sums_every_micro_batch()) {
    for (std::int32_t c = 0; c < plan().order->chunks(); ++c)
      make_buckets({.chunk = c}, 0, plan().stage(place_, c).buckets.size());
  }
  Time since = world.now();
  for (const GroupKind kind : {GroupKind::kShards, GroupKind::kReplicas}) {
    if (called(kind).group != nullptr) co_await over(kind);
  }
  const bool is_an_end = place_ == 0 || place_ + 1 == plan().layout.pipeline();
  if (plan().tied.count > 0 && is_an_end) {
    launch(GroupKind::kEnds, *plan().costs(GroupKind::kEnds).all_reduce, plan().tied);
    co_await over(GroupKind::kEnds);
  }
  spend(Spent::kGradients, since);
  since = world.now();
  co_await run_.all.call(program_, {});
  spend(Spent::kBubble, since);
}

Task StageRank::updates_weights() {
  World& world = run_.world;
  if (!plan().work.update) co_return;
  const Time since = world.now();
  co_await world.pause(update_time(plan(), place_, plan().parts().optimizer), Reason{});
  spend(Spent::kOptimizer, since);
}

void StageRank::expect_over() const {
  for (const Chunk& chunk : chunks_) {
    chunk.activations->expect_taken();
    chunk.gradients->expect_taken();
  }
}

void StageRank::end() {
  end_ = run_.world.now();
  memory_.end();
}

}  // namespace steptime
