#include "calibration/disturbance.h"

#include <fstream>
#include <string>

namespace steptime {

double machine_wait_s() {
  // "some avg10=0.12 avg60=0.05 avg300=0.01 total=123456", total in us.
  std::ifstream pressure("/proc/pressure/cpu");
  for (std::string word; pressure >> word;) {
    if (word.starts_with("total=")) return std::stod(word.substr(6)) * 1e-6;
  }
  return 0;
}

double thread_wait_s() {
  // Time on a processor and time of waiting for one, in ns, and the number of turns.
  std::ifstream schedule("/proc/thread-self/schedstat");
  double ran = 0;
  double waited = 0;
  return schedule >> ran >> waited ? waited * 1e-9 : 0;
}

}  // namespace steptime
