// What is called at the end of something: no allocation, and small enough for an event.
#pragma once
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

namespace steptime {

struct Callback {
  void (*call)(void* object, std::uint64_t argument) = nullptr;
  void* object = nullptr;
  std::uint64_t argument = 0;
  void operator()() const { call(object, argument); }

  /// Calls `action`, a trivially copyable callable of at most 16 bytes: a lambda over a pointer and
  /// a number.
  template <class Action>
  static Callback of(Action action) {
    static_assert(std::is_trivially_copyable_v<Action> && sizeof(Action) <= sizeof(Stored));
    Stored stored{};
    std::memcpy(&stored, &action, sizeof(Action));
    return {[](void* pointer, std::uint64_t number) {
              const Stored of{pointer, number};
              alignas(Stored) unsigned char copy[sizeof(Stored)];
              std::memcpy(copy, &of, sizeof(Stored));
              (*std::launder(reinterpret_cast<Action*>(copy)))();
            },
            stored.pointer, stored.number};
  }

 private:
  struct Stored {
    void* pointer;
    std::uint64_t number;
  };
};

}  // namespace steptime
