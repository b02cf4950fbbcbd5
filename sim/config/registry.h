// Named implementations of an interface, each added by the one file that contains it:
//
//   const bool kRegistered = Schedules::instance().add("wfbp", "one line of help", kParams, make);
//
// A config chooses one as {"type": "<name>", ...its parameters}, or as "<name>" with the defaults
// of these.
#pragma once
#include "sim/config/config.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steptime {

/// What `list` and `schema` need to know of a registry.
class Catalogue {
 public:
  struct Item {
    std::string help;
    Params params;
  };
  virtual ~Catalogue() = default;
  /// The kind of thing registered, in the singular: "schedule".
  const std::string& noun() const { return noun_; }
  /// By name, so that a listing does not depend on link order.
  const std::map<std::string, Item>& items() const { return items_; }
  /// The one that is meant where a config names none, as its own file says. None is a bug.
  const std::string& default_name() const;
  /// Returns true. Of two a bug.
  bool set_default(const std::string& name);
  /// The bare name under `key`, or the one under "type" of the object there.
  static std::string type_of(const Config& parent, std::string_view key);
  /// What is chosen under `key`, read through its table. Throws InputError for an unknown name.
  Config chosen(const Config& parent, std::string_view key) const;
  /// All catalogues of the program, by noun.
  static std::map<std::string, const Catalogue*>& all();

 protected:
  explicit Catalogue(std::string noun) : noun_(std::move(noun)) { all()[noun_] = this; }
  /// A name added twice is a bug.
  void add_item(const std::string& name, std::string help, Params params);
  std::map<std::string, Item> items_;

 private:
  std::string noun_;
  std::string default_;
};

/// {"type": "<name>"}: what stands where a config names none of the things that `noun` is said of.
Json default_choice(const std::string& noun);

/// `Interface` must have a static `kNoun`. Args: what a factory gets beside its parameters.
template <class Interface, class... Args>
class Registry : public Catalogue {
 public:
  using Factory = std::function<std::unique_ptr<Interface>(const Config&, Args...)>;

  Registry() : Catalogue(Interface::kNoun) {}

  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  /// Returns true. A name added twice is a bug.
  bool add(const std::string& name, std::string help, Params params, Factory factory) {
    add_item(name, std::move(help), std::move(params));
    factories_[name] = std::move(factory);
    return true;
  }

  /// The implementation chosen under `key` of `parent`.
  std::unique_ptr<Interface> make(const Config& parent, std::string_view key, Args... args) const {
    const Config config = chosen(parent, key);
    auto made = factories_.at(type_of(parent, key))(config, args...);
    config.check_values();  // those, too, that do not count here
    return made;
  }
  /// The implementation of this name, of which every parameter has its default.
  std::unique_ptr<Interface> make_default(const std::string& name, Args... args) const {
    return make_from(name, Config(items_.at(name).params), args...);
  }
  /// The implementation of this name with parameters of an object that has a table with them.
  std::unique_ptr<Interface> make_from(const std::string& name, const Config& config,
                                       Args... args) const {
    return factories_.at(name)(config, args...);
  }

 private:
  std::map<std::string, Factory> factories_;
};

}  // namespace steptime
