// What a training run looks like on a timeline: workers, what they send, and the threads of
// servers.
#pragma once
#include "sim/events/rank_timeline.h"
#include "sim/events/timeline.h"
#include "sim/servers/servers.h"
#include "sim/training/plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

class Drawing final : public ServerDrawing {
 public:
  /// Draws nothing without a timeline. `plan` must outlive the drawing.
  Drawing(const TrainingPlan& plan, Timeline* timeline);

  bool is_on() const { return timeline_ != nullptr; }
  Timeline* timeline() const { return timeline_; }
  /// A part of a step's compute: a pass; or where one worker stands for all, a layer's part of it.
  struct Part {
    std::string name;
    Duration work;  ///< the step's work that is done at the part's end
    Timeline::Details details{};
  };
  /// One after another; none without a timeline.
  const std::vector<Part>& parts() const { return parts_; }
  void part(std::int32_t worker, std::int64_t step, const Part& part, Time start, Time end);
  /// The gradients of a bucket, where these are what is sent, and not told by layers.
  void gradient(std::int32_t worker, std::int64_t step, std::int32_t bucket, Time start, Time end);
  /// A bucket of the worker's step on a lane of its own.
  void bucket(std::int32_t worker, std::int64_t step, const char* lane, std::int32_t bucket,
              Time start, Time end);
  /// Steps that clients are in, of what servers tell of.
  void began(std::int32_t worker, std::int64_t step);

  /// Of a worker's bucket in its present step, for whoever draws what becomes of it.
  std::uint64_t flow(std::int32_t worker, std::int32_t bucket) const {
    return flow(worker, steps_[static_cast<std::size_t>(worker)], bucket);
  }

  void served(std::int32_t server, const char* what, std::int32_t client, std::int32_t bucket,
              Time start, Time end) override;
  void pushed(const Exchanged& of, Time in) override;
  void pulled(const Exchanged& of, Time in) override;

 private:
  std::uint64_t flow(std::int32_t worker, std::int64_t step, std::int32_t bucket) const;
  void add_layers();
  Timeline::Details gradients_of(std::size_t layer, std::size_t first_unit) const;

  const TrainingPlan& plan_;
  Timeline* timeline_;
  bool has_layers_ = false;
  std::vector<Part> parts_;
  /// Names of every bucket's tensors; none where its units are not known.
  std::vector<std::string> tensors_;
  std::vector<RankTimeline> workers_;
  std::vector<RankTimeline> servers_;
  std::vector<std::int64_t> steps_;  ///< the step that every worker is in
};

}  // namespace steptime
