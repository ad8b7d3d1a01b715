#if defined(_WIN32)
#define HR_EXPORT __declspec(dllexport)
#else
#define HR_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

// What a plugin defines: its table, the same at every call. [any-thread] [valid for the process]
HR_EXPORT const HrPlugin *hookrack_plugin(void);

#ifdef __cplusplus
}
#endif

// Optional helpers for plugins in C; not part of the ABI.

// The header of a table of type T, as an initializer: `.header = HR_HEADER(HookBase)`.
#define HR_HEADER(T) { HR_MAGIC, (uint32_t)sizeof(T), HR_ABI_MAJOR, HR_ABI_MINOR, 0 }

// A string literal as an initializer: `.name = HR_STR("GradNorm")`.
#define HR_STR(literal) { (const uint8_t *)("" literal), sizeof(literal) - 1 }

// An HrStr that borrows a zero-terminated string.
static inline HrStr hr_str(const char *text) {
  HrStr lent;
  lent.ptr = (const uint8_t *)text;
  lent.len = strlen(text);
  return lent;
}

// Whether a call succeeded.
static inline int hr_ok(HrStatus status) {
  return status == HR_OK;
}

// Whether two strings are equal.
static inline int hr_str_eq(HrStr text, const char *other) {
  return text.len == strlen(other) && (text.len == 0 || memcmp(text.ptr, other, text.len) == 0);
}

// The value of `key` in a table of settings; null if there is none.
static inline const HrValue *hr_field(const HrValue *table, const char *key) {
  size_t i;
  if (table == NULL || table->kind != HR_VALUE_TABLE) {
    return NULL;
  }
  for (i = 0; i < table->len; i++) {
    if (hr_str_eq(table->items[i].key, key)) {
      return &table->items[i];
    }
  }
  return NULL;
}

// The name of a point, as manifests write it; an empty text for an unknown code.
static inline const char *hr_point_name(uint32_t point) {
  static const char *const NAMES[] = {
// POINT NAMES
  };
  return point < sizeof NAMES / sizeof NAMES[0] ? NAMES[point] : "";
}

// Sets the error message and returns the status for it: `return hr_fail(trainer, "no gradients")`.
static inline HrStatus hr_fail(const TrainerHandle *trainer, const char *why) {
  trainer->set_error(trainer->host, hr_str(why));
  return HR_ERROR;
}

// After a failed call to the host: uses the host's error message as this plugin's.
static inline HrStatus hr_fail_as_host(const TrainerHandle *trainer) {
  trainer->set_error(trainer->host, trainer->last_error(trainer->host));
  return HR_ERROR;
}

#endif // HOOKRACK_H
