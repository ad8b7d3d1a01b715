// hookrack.hpp: hooks and metrics in C++17 without tables or a manifest written by hand.
//
//   namespace {
//   struct Logger {
//     std::int64_t digits = 4;
//
//     static void describe(hookrack::About<Logger> &about) {
//       about.doc("Logs the loss.");
//       about.setting("digits", &Logger::digits, "Digits after the decimal point.").min(0).max(17);
//       about.at(HR_POINT_AFTER_TRAIN_ITER, &Logger::after_train_iter);
//     }
//
//     void after_train_iter(hookrack::Trainer &t) { t.info("loss " + std::to_string(t.loss().item())); }
//   };
//   }  // namespace
//   HOOKRACK_PLUGIN("logger", "0.1.0", hookrack::hook<Logger>("LoggerHook"))
//
// A setting's default is the value of the field in a new object. A hook may have `void save(StateWriter &) const` and
// `void load(const StateReader &)`; a metric has `update`, `compute`, `reset`, `save` and `merge`. An exception becomes
// the hook's error. Nothing here is part of the ABI. The parts are in the folder hookrack/ beside this file.

#ifndef HOOKRACK_HPP
#define HOOKRACK_HPP

#include "hookrack/tables.hpp"

// Exports the library, with its hooks and metrics after name and version.
#define HOOKRACK_PLUGIN(NAME, VERSION, ...)                              \
  extern "C" const HrPlugin *hookrack_plugin(void) {                     \
    static const hookrack::Plugin plugin(NAME, VERSION, __VA_ARGS__);    \
    return plugin.table();                                               \
  }

#endif // HOOKRACK_HPP
