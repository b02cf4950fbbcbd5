// A key of an object and the member of a struct that it is read into, declared in one place. The
// table of keys and the reader of the struct both follow from it:
//
//   const Bindings<Pool>& pool_keys() {
//     static const Bindings<Pool> keys{
//         {&Pool::threads, "threads", "how many", 4, between(1, 64)},
//         {&Pool::order, "order", "in which they take work", kRequired,
//          one_of("priority", "fifo")}};
//     return keys;
//   }
#pragma once
#include "sim/config/config.h"
#include "sim/config/registry.h"
#include "sim/core/units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace steptime {

/// In place of a fallback.
inline constexpr std::nullptr_t kRequired = nullptr;

constexpr Range between(double low, double high) {
  return {.low = low, .high = high};
}
template <class... Words>
std::vector<std::string> one_of(Words... words) {
  return {words...};
}

/// How a member of this type is written in JSON, and read. A bool or an enumeration of a key with
/// `words` is the place of the word among them: false, or the first enumerator, is the first one.
template <class Member>
struct Bound {
  static constexpr Kind kind() {
    if constexpr (std::is_same_v<Member, Duration>) return Kind::kTime;
    if constexpr (std::is_same_v<Member, Bytes>) return Kind::kBytes;
    if constexpr (std::is_same_v<Member, Bandwidth>) return Kind::kBandwidth;
    if constexpr (std::is_same_v<Member, TimePerByte>) return Kind::kTimePerByte;
    if constexpr (std::is_same_v<Member, std::int64_t>) return Kind::kInteger;
    if constexpr (std::is_same_v<Member, double>) return Kind::kNumber;
    if constexpr (std::is_same_v<Member, bool>) return Kind::kBoolean;
    return Kind::kText;
  }
  static void declare(Param& param) {
    param.kind = param.words.empty() ? kind() : Kind::kText;
    param.need = param.fallback.is_null() ? Need::kRequired : Need::kDefault;
  }
  static Member read(const Config& config, const Param& param) {
    [[maybe_unused]] const auto place = [&] {
      return std::find(param.words.begin(), param.words.end(), config.get<std::string>(param.key)) -
             param.words.begin();
    };
    if constexpr (std::is_enum_v<Member>)
      return static_cast<Member>(place());
    else if constexpr (std::is_same_v<Member, bool>)
      return param.words.empty() ? config.get<bool>(param.key) : place() != 0;
    else
      return config.get<Member>(param.key);
  }
};

/// A key that may be missing.
template <class Value>
struct Bound<std::optional<Value>> {
  static void declare(Param& param) {
    Bound<Value>::declare(param);
    param.need = Need::kOptional;
  }
  static std::optional<Value> read(const Config& config, const Param& param) {
    if (!config.has(param.key)) return std::nullopt;
    return Bound<Value>::read(config, param);
  }
};

/// An implementation of an interface, chosen from its registry.
template <class Interface>
struct Bound<std::shared_ptr<const Interface>> {
  static void declare(Param& param) {
    param.kind = Kind::kObject;
    param.need = param.fallback.is_null() ? Need::kRequired : Need::kDefault;
    param.choice = Interface::kNoun;
  }
  static std::shared_ptr<const Interface> read(const Config& config, const Param& param) {
    return Registry<Interface>::instance().make(config, param.key);
  }
};

template <class Struct>
class Bindings {
 public:
  using Reader = std::function<void(const Config&, Struct&)>;

  struct Binding {
    /// Kind and need follow from the member's type and from whether there is a fallback.
    template <class Member>
    Binding(Member Struct::*member, std::string key, std::string help, Json fallback = kRequired,
            Range range = kAnyValue, std::vector<std::string> words = {})
        : param{.key = std::move(key),
                .help = std::move(help),
                .fallback = std::move(fallback),
                .range = range,
                .words = std::move(words)} {
      Bound<Member>::declare(param);
      read = [member, known = param](const Config& config, Struct& into) {
        into.*member = Bound<Member>::read(config, known);
      };
    }
    /// A key with one of some words.
    template <class Member>
    Binding(Member Struct::*member, std::string key, std::string help, Json fallback,
            std::vector<std::string> words)
        : Binding(member, std::move(key), std::move(help), std::move(fallback), kAnyValue,
                  std::move(words)) {}
    /// A key whose value is no member as it stands.
    Binding(Param declared, Reader reader) : param(std::move(declared)), read(std::move(reader)) {}
    /// A key that is read elsewhere.
    explicit Binding(Param declared) : param(std::move(declared)) {}

    Param param;
    Reader read;
  };

  Bindings(std::initializer_list<Binding> bindings) {
    for (const Binding& binding : bindings)
      add(binding.param, binding.read);
  }

  const Params& params() const { return params_; }
  /// `config` was read through params(), or through a table that contains them.
  Struct read(const Config& config) const {
    Struct result{};
    for (const Reader& reader : readers_) {
      if (reader) reader(config, result);
    }
    return result;
  }

  /// These keys, and then `more`.
  Bindings with(const Bindings& more) const {
    Bindings all = *this;
    for (std::size_t i = 0; i < more.params_.size(); ++i)
      all.add(more.params_[i], more.readers_[i]);
    return all;
  }
  /// Those of these keys.
  Bindings only(std::span<const std::string_view> keys) const {
    Bindings some{};
    for (std::size_t i = 0; i < params_.size(); ++i) {
      if (std::find(keys.begin(), keys.end(), params_[i].key) != keys.end())
        some.add(params_[i], readers_[i]);
    }
    return some;
  }

 private:
  void add(const Param& param, const Reader& reader) {
    params_.push_back(param);
    readers_.push_back(reader);
  }

  Params params_;
  std::vector<Reader> readers_;
};

}  // namespace steptime
