// How much a run has to do, known before it begins. A run that would keep a laptop busy for far
// longer than ten minutes, or that does not fit into its memory, is refused with one line.
#pragma once
#include <functional>
#include <string_view>

namespace steptime {

/// Events that are played, at 60 to 200 ns each: ten minutes to half an hour.
inline constexpr double kMostEvents = 1e10;
/// Links of a machine, at about 80 B each.
inline constexpr double kMostLinks = 1e8;
/// Messages with servers that each client keeps a state for, at about 20 B each.
inline constexpr double kMostStates = 3e8;
/// Bars of a timeline, at about 200 B each, file included; viewers take no more than that.
inline constexpr double kMostBars = 1e7;

/// Seconds of one step, or of a run: half the range of simulated time, so that no sum of a step can
/// leave it.
inline constexpr double kLongestSeconds = 4e6;

/// Throws PlacedError "POINTER: about 2e+12 THINGS to play, at most 1e+10; ADVICE".
void check_events(double events, std::string_view pointer, std::string_view things,
                  std::string_view advice);
void check_links(double links);

/// Throws PlacedError when a timeline would have more bars than fit.
void check_bars(double bars);

/// Told now and then, in a run that takes long, what share of it is done. It may throw Interrupted.
using OnProgress = std::function<void(double share)>;
/// The user wants a run to end before it is over. No fault, so no std::exception.
struct Interrupted {};

}  // namespace steptime
