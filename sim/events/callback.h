// What is called at the end of something: no allocation, and small enough for an event.
#pragma once
#include <cstdint>

namespace steptime {

struct Callback {
  void (*call)(void* object, std::uint64_t argument) = nullptr;
  void* object = nullptr;
  std::uint64_t argument = 0;
  void operator()() const { call(object, argument); }
};

}  // namespace steptime
