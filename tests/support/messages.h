// What an error says.
#pragma once
#include <exception>
#include <string>
#include <utility>

namespace steptime {

/// The text of the `Error` that `action` throws; text that no test expects when it throws another
/// one or none.
template <class Error, class Action>
std::string message_of(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const Error& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("an error of another type: ") + e.what();
  }
  return "no error";
}

}  // namespace steptime
