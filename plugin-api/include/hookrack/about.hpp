// What a hook or metric says about itself: settings, points, and its manifest. Part of hookrack.hpp.

#ifndef HOOKRACK_ABOUT_HPP
#define HOOKRACK_ABOUT_HPP

#include "values.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Hidden visibility: two libraries in one process may have classes of the same name.
namespace hookrack __attribute__((visibility("hidden"))) {

// A JSON list of words that are separated by commas.
inline std::string quoted_list(std::string_view words) {
  std::string out;
  std::size_t from = 0;
  while ((from = words.find_first_not_of(", ", from)) != std::string_view::npos) {
    const std::size_t to = std::min(words.find_first_of(", ", from), words.size());
    out += (out.empty() ? "" : ",") + quoted(words.substr(from, to - from));
    from = to;
  }
  return "[" + out + "]";
}

// One setting of a `T`: its description, and how it is read.
template <class T>
class Setting {
 public:
  template <class F>
  Setting(std::string name, F T::*field, std::string_view doc) : name_(std::move(name)) {
    about_ = "{\"name\":" + quoted(name_) + ",\"doc\":" + quoted(doc);
    type_ = Convert<F>::type();
    default_ = ",\"default\":" + Convert<F>::json(T{}.*field);
    read_ = [field](T &object, const HrValue &value) { object.*field = Convert<F>::read(value); };
  }
  // The range of a number, inclusive; the host checks it before the plugin is called.
  Setting &min(double bound) { return bounded("min", bound); }
  Setting &max(double bound) { return bounded("max", bound); }
  // The setting is required.
  Setting &required() {
    default_ = ",\"required\":true";
    return *this;
  }
  // A string that is one of these words, separated by commas; a path, relative to the config; the name of a scalar.
  Setting &one_of(std::string_view words) { return typed("{\"one_of\":" + quoted_list(words) + "}"); }
  Setting &path() { return typed("\"path\""); }
  Setting &monitor() { return typed("\"monitor\""); }
  // Another name of the key.
  Setting &alias(std::string_view key) {
    keys_.emplace_back(key);
    return *this;
  }

  std::string json() const {
    std::string aliases;
    for (const std::string &key : keys_) aliases += (aliases.empty() ? "" : ",") + quoted(key);
    return about_ + ",\"type\":" + type_ + default_ + ",\"aliases\":[" + aliases + "]}";
  }
  void fill(T &object, const HrValue *settings) const {
    const HrValue *value = hr_field(settings, name_.c_str());
    for (const std::string &key : keys_) value = value == nullptr ? hr_field(settings, key.c_str()) : value;
    if (value == nullptr) return;
    try {
      read_(object, *value);
    } catch (const std::exception &error) {
      // An error that begins with the key is shown at that key of the config.
      throw Error(name_ + ": " + error.what());
    }
  }

 private:
  Setting &bounded(const char *end, double bound) {
    about_ += std::string(",\"") + end + "\":" + Convert<double>::json(bound);
    return *this;
  }

  Setting &typed(const std::string &type) {
    type_ = type;
    return *this;
  }

  std::string name_, about_, type_, default_;
  std::vector<std::string> keys_;
  std::function<void(T &, const HrValue &)> read_;
};

// The description of a hook or metric, filled in by `describe`. Lists of words are separated by commas.
template <class T>
class About {
 public:
  About &doc(std::string_view text) { return say("doc", quoted(text)); }
  About &level(int number) { return say("level", std::to_string(number)); }
  About &level(std::string_view name) { return say("level", quoted(name)); }
  // The default cadence: "10it" or "2ep".
  About &every(std::string_view cadence) { return say("every", quoted(cadence)); }
  About &aliases(std::string_view words) { return say("aliases", quoted_list(words)); }
  About &mutates(std::string_view words) { return say("mutates", quoted_list(words)); }
  About &reads(std::string_view words) { return say("reads", quoted_list(words)); }
  About &writes(std::string_view words) { return say("writes", quoted_list(words)); }
  About &ops(std::string_view words) { return say("ops", quoted_list(words)); }
  About &on_error(std::string_view policy) { return say("on_error", quoted(policy)); }
  // The default ranks: "all", "main" for rank 0 only, or "last_stage" for those with the last stage of a pipeline.
  About &ranks(std::string_view which) { return say("ranks", quoted(which)); }
  About &better(std::string_view direction) { return say("better", quoted(direction)); }
  About &unit(std::string_view unit) { return say("unit", quoted(unit)); }
  // A key of the config that fills a field: bool, integers, floats, std::string, and vectors of these.
  template <class F>
  Setting<T> &setting(std::string name, F T::*field, std::string_view doc) {
    return settings_.emplace_back(std::move(name), field, doc);
  }
  // Calls a method at a point, such as HR_POINT_AFTER_TRAIN_ITER.
  About &at(std::uint32_t point, void (T::*call)(Trainer &)) {
    points_.emplace_back(point, call);
    return *this;
  }

  // Used by the tables below.
  std::string manifest(bool is_hook, bool has_state) const {
    std::string points, params;
    for (const auto &[code, call] : points_) points += (points.empty() ? "" : ",") + quoted(hr_point_name(code));
    for (const Setting<T> &one : settings_) params += (params.empty() ? "" : ",") + one.json();
    const std::string hook = is_hook ? "\"points\":[" + points + "],\"state\":" + (has_state ? "true," : "false,") : "";
    return "{" + hook + said_ + "\"params\":[" + params + "]}";
  }
  void fill(T &object, const HrValue *settings) const {
    for (const Setting<T> &one : settings_) one.fill(object, settings);
  }
  void call(T &object, std::uint32_t point, Trainer &trainer) const {
    for (const auto &[code, method] : points_) {
      if (code == point) return (object.*method)(trainer);
    }
  }

 private:
  About &say(const char *key, const std::string &json) {
    said_ += std::string("\"") + key + "\":" + json + ",";
    return *this;
  }
  std::string said_;
  std::deque<Setting<T>> settings_;
  std::vector<std::pair<std::uint32_t, void (T::*)(Trainer &)>> points_;
};

}  // namespace hookrack

#endif // HOOKRACK_ABOUT_HPP
