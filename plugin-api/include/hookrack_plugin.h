// hookrack_plugin.h: hooks and metrics in C without tables or a manifest written by hand.
//
//   typedef struct Logger {
//     int64_t digits;
//   } Logger;
//
//   static const HrSetting SETTINGS[] = {HR_INT_IN(Logger, digits, 4, 0, 17, "Digits after the decimal point.")};
//
//   static HrStatus after_train_iter(void *instance, const TrainerHandle *trainer) { ... }
//
//   static const HrAt POINTS[] = {{HR_POINT_AFTER_TRAIN_ITER, after_train_iter}};
//
//   HR_HOOK(LoggerHook, .doc = "Logs the loss.", .size = sizeof(Logger), HR_POINTS(POINTS), HR_SETTINGS(SETTINGS));
//   HR_PLUGIN("logger", "0.1.0", HR_PLUGIN_HOOKS(&LoggerHook));
//
// Each fact is declared once: the manifest, the checks and defaults of the settings, and the tables follow from it.
// Nothing here is part of the ABI. C11 with GCC or Clang; hookrack.hpp is the same for C++.

#ifndef HOOKRACK_PLUGIN_H
#define HOOKRACK_PLUGIN_H

#include "hookrack.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

// One setting: a field of the instance, which is set before `init` is called.
typedef struct HrSetting {
  const char *name;
  const char *doc;
  // HR_VALUE_BOOL, HR_VALUE_INT, HR_VALUE_FLOAT or HR_VALUE_TEXT.
  uint32_t kind;
  size_t offset;
  // Whether a config must set it. Otherwise one of the next three is its default.
  bool is_required;
  int64_t int_;
  double float_;
  const char *text;
  // The range of a number, inclusive.
  double min;
  double max;
} HrSetting;

// The offset of a field, which must have this type.
#define HR_FIELD(T, field, type) _Generic(((T *)0)->field, type : offsetof(T, field))
#define HR_SETTING(T, field, type, kind, is_required, int_, float_, text, min, max, doc) \
  {#field, doc, kind, HR_FIELD(T, field, type), is_required, int_, float_, text, min, max}

// A `bool`, an `int64_t`, a `double`, or a `const char *` that is freed with the instance: type of the instance, field,
// default, doc.
#define HR_BOOL(T, field, fallback, doc) \
  HR_SETTING(T, field, bool, HR_VALUE_BOOL, false, fallback, 0, NULL, -HUGE_VAL, HUGE_VAL, doc)
#define HR_INT(T, field, fallback, doc) HR_INT_IN(T, field, fallback, -HUGE_VAL, HUGE_VAL, doc)
#define HR_FLOAT(T, field, fallback, doc) HR_FLOAT_IN(T, field, fallback, -HUGE_VAL, HUGE_VAL, doc)
#define HR_TEXT(T, field, fallback, doc) \
  HR_SETTING(T, field, const char *, HR_VALUE_TEXT, false, 0, 0, fallback, -HUGE_VAL, HUGE_VAL, doc)

// The same with a range; use HUGE_VAL and -HUGE_VAL for no limit.
#define HR_INT_IN(T, field, fallback, min, max, doc) \
  HR_SETTING(T, field, int64_t, HR_VALUE_INT, false, fallback, 0, NULL, min, max, doc)
#define HR_FLOAT_IN(T, field, fallback, min, max, doc) \
  HR_SETTING(T, field, double, HR_VALUE_FLOAT, false, 0, fallback, NULL, min, max, doc)

// Required settings.
#define HR_REQUIRED_INT(T, field, min, max, doc) \
  HR_SETTING(T, field, int64_t, HR_VALUE_INT, true, 0, 0, NULL, min, max, doc)
#define HR_REQUIRED_FLOAT(T, field, min, max, doc) \
  HR_SETTING(T, field, double, HR_VALUE_FLOAT, true, 0, 0, NULL, min, max, doc)
#define HR_REQUIRED_TEXT(T, field, doc) \
  HR_SETTING(T, field, const char *, HR_VALUE_TEXT, true, 0, 0, NULL, -HUGE_VAL, HUGE_VAL, doc)

// A point and the function called there.
typedef struct HrAt {
  uint32_t point;
  HrStatus (*call)(void *instance, const TrainerHandle *trainer);
} HrAt;

// A hook. Fields are optional; lists of words are separated by commas. docs/abi.md, "The manifest", explains them.
typedef struct HrHookSpec {
  // What it does, in one line.
  const char *doc;
  // Size of an instance: `sizeof(Logger)`. It is zeroed, then the settings are set.
  size_t size;
  // HR_POINTS(list)
  const HrAt *points;
  size_t point_count;
  // HR_SETTINGS(list)
  const HrSetting *settings;
  size_t setting_count;
  // The name of a level or a number, as a string; default NORMAL.
  const char *level;
  // The default cadence: "10it" or "2ep".
  const char *every;
  const char *aliases;
  const char *mutates;
  const char *reads;
  const char *writes;
  const char *ops;
  const char *on_error;
  // The default ranks: "all", "main" for rank 0 only, or "last_stage" for those with the last stage of a pipeline.
  const char *ranks;
  // Called once, after the settings are set; may fail with hr_fail.
  HrStatus (*init)(void *instance, const TrainerHandle *trainer);
  // Frees what the instance owns, but not the instance itself and its settings.
  void (*drop)(void *instance);
  // State for checkpoints: both or neither.
  HrStatus (*save)(void *instance, const HrStateWriter *writer);
  HrStatus (*load)(void *instance, const HrStateReader *reader);
} HrHookSpec;

// A metric.
typedef struct HrMetricSpec {
  const char *doc;
  size_t size;
  const HrSetting *settings;
  size_t setting_count;
  // "higher" or "lower"; optional.
  const char *better;
  const char *unit;
  const char *aliases;
  const char *ops;
  HrStatus (*init)(void *instance, const TrainerHandle *trainer);
  void (*drop)(void *instance);
  // Adds the current batch.
  HrStatus (*update)(void *instance, const TrainerHandle *trainer);
  // The value over all batches since the last reset; NaN if there was none.
  double (*compute)(const void *instance);
  // Removes all batches.
  void (*reset)(void *instance);
  // Saves the accumulated values, and adds those that another process saved. Keep sums and counts, so that merging is an addition.
  HrStatus (*save)(void *instance, const HrStateWriter *writer);
  HrStatus (*merge)(void *instance, const HrStateReader *reader);
} HrMetricSpec;

#include "hookrack_manifest.h"

#define HR_POINTS(list) .points = (list), .point_count = sizeof(list) / sizeof(list)[0]
#define HR_SETTINGS(list) .settings = (list), .setting_count = sizeof(list) / sizeof(list)[0]

// Defines the table of a hook; NAME is its `type` in configs.
#define HR_HOOK(NAME, ...)                                                                                         \
  static const HrHookSpec hr_spec_##NAME = {__VA_ARGS__};                                                          \
  static HrStr hr_text_##NAME;                                                                                     \
  __attribute__((constructor)) static void hr_describe_##NAME(void) {                                              \
    hr_text_##NAME = hr_made(hr_write_hook, &hr_spec_##NAME);                                                      \
  }                                                                                                                \
  static HrStr hr_manifest_##NAME(void) { return hr_text_##NAME; }                                                 \
  static HrStatus hr_create_##NAME(const TrainerHandle *trainer, const HrValue *settings, void **out) {            \
    const HrHookSpec *spec = &hr_spec_##NAME;                                                                      \
    return hr_create(trainer, settings, spec->size, spec->settings, spec->setting_count, spec->init, out);         \
  }                                                                                                                \
  static void hr_destroy_##NAME(void *instance) {                                                                  \
    hr_destroy(instance, hr_spec_##NAME.settings, hr_spec_##NAME.setting_count, hr_spec_##NAME.drop);              \
  }                                                                                                                \
  static HrStatus hr_on_point_##NAME(void *instance, uint32_t point, const TrainerHandle *trainer) {               \
    return hr_call(&hr_spec_##NAME, instance, point, trainer);                                                     \
  }                                                                                                                \
  static HrStatus hr_save_##NAME(void *instance, const HrStateWriter *writer) {                                    \
    return hr_spec_##NAME.save == NULL ? HR_OK : hr_spec_##NAME.save(instance, writer);                            \
  }                                                                                                                \
  static HrStatus hr_load_##NAME(void *instance, const HrStateReader *reader) {                                    \
    return hr_spec_##NAME.load == NULL ? HR_OK : hr_spec_##NAME.load(instance, reader);                            \
  }                                                                                                                \
  static const HookBase NAME = {                                                                                   \
      .header = HR_HEADER(HookBase),                                                                               \
      .name = HR_STR(#NAME),                                                                                       \
      .manifest = hr_manifest_##NAME,                                                                              \
      .create = hr_create_##NAME,                                                                                  \
      .destroy = hr_destroy_##NAME,                                                                                \
      .on_point = hr_on_point_##NAME,                                                                              \
      .save_state = hr_save_##NAME,                                                                                \
      .load_state = hr_load_##NAME,                                                                                \
  }

// Defines the table of a metric; NAME is its `type` in configs.
#define HR_METRIC(NAME, ...)                                                                                       \
  static const HrMetricSpec hr_spec_##NAME = {__VA_ARGS__};                                                        \
  static HrStr hr_text_##NAME;                                                                                     \
  __attribute__((constructor)) static void hr_describe_##NAME(void) {                                              \
    hr_text_##NAME = hr_made(hr_write_metric, &hr_spec_##NAME);                                                    \
  }                                                                                                                \
  static HrStr hr_manifest_##NAME(void) { return hr_text_##NAME; }                                                 \
  static HrStatus hr_create_##NAME(const TrainerHandle *trainer, const HrValue *settings, void **out) {            \
    const HrMetricSpec *spec = &hr_spec_##NAME;                                                                    \
    return hr_create(trainer, settings, spec->size, spec->settings, spec->setting_count, spec->init, out);         \
  }                                                                                                                \
  static void hr_destroy_##NAME(void *instance) {                                                                  \
    hr_destroy(instance, hr_spec_##NAME.settings, hr_spec_##NAME.setting_count, hr_spec_##NAME.drop);              \
  }                                                                                                                \
  static HrStatus hr_compute_##NAME(void *instance, uint32_t scope, const HrScalarSink *sink) {                    \
    HrStr main_value = {NULL, 0};                                                                                  \
    if (scope == HR_METRIC_STEP) {                                                                                 \
      return HR_OK;                                                                                                \
    }                                                                                                              \
    return sink->put(sink->sink, main_value, hr_spec_##NAME.compute(instance));                                    \
  }                                                                                                                \
  static HrStatus hr_reset_##NAME(void *instance) {                                                                \
    hr_spec_##NAME.reset(instance);                                                                                \
    return HR_OK;                                                                                                  \
  }                                                                                                                \
  static HrStatus hr_load_##NAME(void *instance, const HrStateReader *reader) {                                    \
    hr_spec_##NAME.reset(instance);                                                                                \
    return hr_spec_##NAME.merge(instance, reader);                                                                 \
  }                                                                                                                \
  static HrStatus hr_update_##NAME(void *instance, const TrainerHandle *trainer) {                                 \
    return hr_spec_##NAME.update(instance, trainer);                                                               \
  }                                                                                                                \
  static HrStatus hr_save_##NAME(void *instance, const HrStateWriter *writer) {                                    \
    return hr_spec_##NAME.save(instance, writer);                                                                  \
  }                                                                                                                \
  static HrStatus hr_merge_##NAME(void *instance, const HrStateReader *reader) {                                   \
    return hr_spec_##NAME.merge(instance, reader);                                                                 \
  }                                                                                                                \
  static const MetricBase NAME = {                                                                                 \
      .header = HR_HEADER(MetricBase),                                                                             \
      .name = HR_STR(#NAME),                                                                                       \
      .manifest = hr_manifest_##NAME,                                                                              \
      .create = hr_create_##NAME,                                                                                  \
      .destroy = hr_destroy_##NAME,                                                                                \
      .update = hr_update_##NAME,                                                                                  \
      .compute = hr_compute_##NAME,                                                                                \
      .reset = hr_reset_##NAME,                                                                                    \
      .save_state = hr_save_##NAME,                                                                                \
      .load_state = hr_load_##NAME,                                                                                \
      .merge = hr_merge_##NAME,                                                                                    \
  }

// Exports the library: `HR_PLUGIN("logger", "0.1.0", HR_PLUGIN_HOOKS(&LoggerHook), HR_PLUGIN_METRICS(&LogLoss))`.
#define HR_PLUGIN(NAME, VERSION, ...)                                                                              \
  static const HrPlugin hr_plugin_table = {                                                                        \
      .header = HR_HEADER(HrPlugin),                                                                               \
      .name = HR_STR(NAME),                                                                                        \
      .version = HR_STR(VERSION),                                                                                  \
      .built_with = HR_STR("C compiler " __VERSION__),                                                             \
      __VA_ARGS__,                                                                                                 \
  };                                                                                                               \
  const HrPlugin *hookrack_plugin(void) { return &hr_plugin_table; }                                               \
  extern const HrPlugin *hookrack_plugin(void)

#define HR_PLUGIN_HOOKS(...)                                     \
  .hooks = (const HookBase *const[]){__VA_ARGS__},        \
  .hook_count = sizeof((const HookBase *const[]){__VA_ARGS__}) / sizeof(const HookBase *)
#define HR_PLUGIN_METRICS(...)                                   \
  .metrics = (const MetricBase *const[]){__VA_ARGS__},    \
  .metric_count = sizeof((const MetricBase *const[]){__VA_ARGS__}) / sizeof(const MetricBase *)

// Logs a message with printf's format, of at most 511 bytes. It is not formatted if the level is disabled.
__attribute__((format(printf, 3, 4))) static inline void hr_log(const TrainerHandle *trainer, uint32_t level,
                                                                const char *format, ...) {
  char line[512];
  va_list arguments;
  if (level > *trainer->log_level) {
    return;
  }
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  trainer->log(trainer->host, level, hr_str("plugin"), hr_str(line));
}

// `return hr_failf(trainer, "expected %d labels", n)`: as hr_fail, with a formatted message of at most 511 bytes.
__attribute__((format(printf, 2, 3))) static inline HrStatus hr_failf(const TrainerHandle *trainer, const char *format,
                                                                      ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return hr_fail(trainer, line);
}

// The value of a slot's tensor with one element, such as HR_SLOT_LOSS. Waits for the device.
static inline HrStatus hr_slot_number(const TrainerHandle *trainer, uint32_t slot, double *out) {
  HrTensor tensor;
  HrStatus status = trainer->tensors->slot(trainer->host, slot, &tensor);
  return hr_ok(status) ? trainer->tensors->item(trainer->host, tensor, out) : status;
}

// Saves a number in the state.
static inline HrStatus hr_save_int(const HrStateWriter *writer, const char *key, int64_t number) {
  HrValue value = {0};
  value.kind = HR_VALUE_INT;
  value.int_ = number;
  return writer->put_value(writer->sink, hr_str(key), &value);
}
static inline HrStatus hr_save_float(const HrStateWriter *writer, const char *key, double number) {
  HrValue value = {0};
  value.kind = HR_VALUE_FLOAT;
  value.float_ = number;
  return writer->put_value(writer->sink, hr_str(key), &value);
}

// Reads a saved number; HR_ABSENT if there is none of that type under the key.
static inline HrStatus hr_saved_int(const HrStateReader *reader, const char *key, int64_t *out) {
  const HrValue *value = reader->value(reader->source, hr_str(key));
  if (value == NULL || value->kind != HR_VALUE_INT) {
    return HR_ABSENT;
  }
  *out = value->int_;
  return HR_OK;
}
static inline HrStatus hr_saved_float(const HrStateReader *reader, const char *key, double *out) {
  const HrValue *value = reader->value(reader->source, hr_str(key));
  if (value == NULL || value->kind != HR_VALUE_FLOAT) {
    return HR_ABSENT;
  }
  *out = value->float_;
  return HR_OK;
}

// Frees the string settings and the instance.
static inline void hr_destroy(void *instance, const HrSetting *settings, size_t count, void (*drop)(void *instance)) {
  size_t i;
  if (drop != NULL) {
    drop(instance);
  }
  for (i = 0; i < count; i++) {
    if (settings[i].kind == HR_VALUE_TEXT) {
      free(*(char **)((char *)instance + settings[i].offset));
    }
  }
  free(instance);
}

// Copies a string, zero-terminated, into a field.
static inline HrStatus hr_fill_text(const TrainerHandle *trainer, void *field, const void *bytes, size_t len) {
  char *copy = malloc(len + 1);
  if (copy == NULL) {
    return hr_fail(trainer, "out of memory");
  }
  memcpy(copy, bytes, len);
  copy[len] = '\0';
  *(char **)field = copy;
  return HR_OK;
}

// Sets the field of one setting. An error that begins with the key is shown at that key of the config.
static inline HrStatus hr_fill(const TrainerHandle *trainer, const HrSetting *setting, const HrValue *value,
                               void *field) {
  int is_int = value != NULL && value->kind == HR_VALUE_INT;
  double number = value == NULL ? 0 : is_int ? (double)value->int_ : value->float_;
  if (value == NULL && setting->is_required) {
    return hr_failf(trainer, "%s: is required", setting->name);
  }
  if (value != NULL && value->kind != setting->kind && !(is_int && setting->kind == HR_VALUE_FLOAT)) {
    return hr_failf(trainer, "%s: has the wrong type", setting->name);
  }
  switch (setting->kind) {
    case HR_VALUE_BOOL: *(bool *)field = value == NULL ? setting->int_ != 0 : value->int_ != 0; return HR_OK;
    case HR_VALUE_INT: *(int64_t *)field = value == NULL ? setting->int_ : value->int_; break;
    case HR_VALUE_FLOAT: *(double *)field = value == NULL ? setting->float_ : number; break;
    default:
      return value == NULL ? hr_fill_text(trainer, field, setting->text, strlen(setting->text))
                           : hr_fill_text(trainer, field, value->text.ptr, value->text.len);
  }
  if (value != NULL && !(number >= setting->min && number <= setting->max)) {
    return hr_failf(trainer, "%s: must be between %g and %g", setting->name, setting->min, setting->max);
  }
  return HR_OK;
}

static inline HrStatus hr_create(const TrainerHandle *trainer, const HrValue *given, size_t size,
                                 const HrSetting *settings, size_t count,
                                 HrStatus (*init)(void *instance, const TrainerHandle *trainer), void **out) {
  HrStatus status = HR_OK;
  size_t i;
  char *instance = calloc(1, size == 0 ? 1 : size);
  if (instance == NULL) {
    return hr_fail(trainer, "out of memory");
  }
  for (i = 0; i < count && hr_ok(status); i++) {
    status = hr_fill(trainer, &settings[i], hr_field(given, settings[i].name), instance + settings[i].offset);
  }
  if (hr_ok(status) && init != NULL) {
    status = init(instance, trainer);
  }
  if (!hr_ok(status)) {
    hr_destroy(instance, settings, count, NULL);
    return status;
  }
  *out = instance;
  return HR_OK;
}

// Calls the function of a point. A hook has few points, so a linear search is cheaper than a table of all.
static inline HrStatus hr_call(const HrHookSpec *spec, void *instance, uint32_t point, const TrainerHandle *trainer) {
  size_t i;
  for (i = 0; i < spec->point_count; i++) {
    if (spec->points[i].point == point) {
      return spec->points[i].call(instance, trainer);
    }
  }
  return HR_OK;
}

#endif // HOOKRACK_PLUGIN_H
