// The tables of the ABI around the classes of a library. Part of hookrack.hpp.

#ifndef HOOKRACK_TABLES_HPP
#define HOOKRACK_TABLES_HPP

#include "about.hpp"

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// Hidden visibility: two libraries in one process may have classes of the same name.
namespace hookrack __attribute__((visibility("hidden"))) {

// The C functions around a `T`; no exception leaves them.
template <class T>
struct Tables {
  struct Instance {
    const TrainerHandle *trainer;
    T object;
  };

  template <class U>
  static auto saves(int) -> decltype(std::declval<const U &>().save(std::declval<StateWriter &>()), std::true_type());
  template <class U>
  static std::false_type saves(...);
  static constexpr bool has_state = decltype(saves<T>(0))::value;
  template <class U>
  static auto lists(int) -> decltype(std::declval<const U &>().values(std::declval<Scalars &>()), std::true_type());
  template <class U>
  static std::false_type lists(...);

  static const About<T> &about() {
    static const About<T> made = [] {
      About<T> about;
      T::describe(about);
      return about;
    }();
    return made;
  }

  template <class Body>
  static HrStatus guarded(const TrainerHandle *trainer, Body body) noexcept {
    try {
      body();
      return HR_OK;
    } catch (const std::exception &error) {
      trainer->set_error(trainer->host, hr_str(error.what()));
    } catch (...) {
      trainer->set_error(trainer->host, hr_str("an exception not derived from std::exception"));
    }
    return HR_ERROR;
  }
  template <class Body>
  static HrStatus with(void *instance, Body body) noexcept {
    auto &it = *static_cast<Instance *>(instance);
    return guarded(it.trainer, [&] { body(it.object); });
  }

  static StateReader reader(void *instance, const HrStateReader *raw) {
    return StateReader(raw, *static_cast<Instance *>(instance)->trainer);
  }

  template <bool is_hook>
  static HrStr manifest() noexcept {
    try {
      static const std::string text = about().manifest(is_hook, has_state);
      return lend(text);
    } catch (...) {
      return {nullptr, 0};
    }
  }
  static HrStatus create(const TrainerHandle *trainer, const HrValue *settings, void **out) noexcept {
    return guarded(trainer, [&] {
      auto made = std::make_unique<Instance>(Instance{trainer, T{}});
      about().fill(made->object, settings);
      *out = made.release();
    });
  }
  static void destroy(void *instance) noexcept { delete static_cast<Instance *>(instance); }
  static HrStatus on_point(void *instance, std::uint32_t point, const TrainerHandle *trainer) noexcept {
    Trainer t(trainer);
    return with(instance, [&](T &object) { about().call(object, point, t); });
  }
  static HrStatus save(void *instance, const HrStateWriter *raw) noexcept {
    return with(instance, [&]([[maybe_unused]] T &object) {
      [[maybe_unused]] StateWriter writer(raw);
      if constexpr (has_state) object.save(writer);
    });
  }
  static HrStatus load(void *instance, const HrStateReader *raw) noexcept {
    return with(instance, [&]([[maybe_unused]] T &object) {
      if constexpr (has_state) object.load(reader(instance, raw));
    });
  }
  static HrStatus update(void *instance, const TrainerHandle *trainer) noexcept {
    Trainer t(trainer);
    return with(instance, [&](T &object) { object.update(t); });
  }
  static HrStatus compute(void *instance, std::uint32_t scope, const HrScalarSink *sink) noexcept {
    return with(instance, [&](T &object) {
      Scalars out(sink);
      if (scope == HR_METRIC_STEP) return;
      if constexpr (decltype(lists<T>(0))::value) {
        object.values(out);
      } else {
        out.put("", object.compute());
      }
    });
  }
  static HrStatus reset(void *instance) noexcept {
    return with(instance, [](T &object) { object.reset(); });
  }
  static HrStatus merge(void *instance, const HrStateReader *raw) noexcept {
    return with(instance, [&](T &object) { object.merge(reader(instance, raw)); });
  }
  static HrStatus replace(void *instance, const HrStateReader *raw) noexcept {
    return with(instance, [&](T &object) {
      object.reset();
      object.merge(reader(instance, raw));
    });
  }
};

// The table of a hook; the name is its `type` in configs.
template <class T>
HookBase hook(const char *name) {
  using Of = Tables<T>;
  return {HR_HEADER(HookBase), hr_str(name),  Of::template manifest<true>, Of::create, Of::destroy,
          Of::on_point,        Of::save,      Of::load};
}

// The table of a metric.
template <class T>
MetricBase metric(const char *name) {
  using Of = Tables<T>;
  return {HR_HEADER(MetricBase), hr_str(name), Of::template manifest<false>, Of::create, Of::destroy, Of::update,
          Of::compute,           Of::reset,    Of::save,                     Of::replace, Of::merge};
}

// The tables of a library.
class Plugin {
 public:
  template <class... Entries>
  Plugin(const char *name, const char *version, const Entries &...entries) {
    (add(entries), ...);
    table_ = {HR_HEADER(HrPlugin), hr_str(name),         hr_str(version),       hr_str("C++ compiler " __VERSION__),
              hook_list_.data(),   hook_list_.size(), metric_list_.data(), metric_list_.size()};
  }
  const HrPlugin *table() const { return &table_; }

 private:
  void add(const HookBase &hook) { hook_list_.push_back(&hooks_.emplace_back(hook)); }
  void add(const MetricBase &metric) { metric_list_.push_back(&metrics_.emplace_back(metric)); }

  std::deque<HookBase> hooks_;
  std::deque<MetricBase> metrics_;
  std::vector<const HookBase *> hook_list_;
  std::vector<const MetricBase *> metric_list_;
  HrPlugin table_;
};

}  // namespace hookrack

#endif // HOOKRACK_TABLES_HPP
