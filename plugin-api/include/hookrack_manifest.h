// hookrack_manifest.h: writes the manifests of hookrack_plugin.h, which includes it. Not for plugins to call.

#ifndef HOOKRACK_MANIFEST_H
#define HOOKRACK_MANIFEST_H

// A text in progress; if `at` is null, only its length is counted.
typedef struct HrText {
  char *at;
  size_t len;
} HrText;

static inline void hr_put(HrText *out, const char *text) {
  size_t len = strlen(text);
  if (out->at != NULL) {
    memcpy(out->at + out->len, text, len);
  }
  out->len += len;
}

// A JSON string of `len` bytes.
static inline void hr_put_quoted(HrText *out, const char *text, size_t len) {
  char piece[8];
  size_t i;
  hr_put(out, "\"");
  for (i = 0; i < len; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\') {
      snprintf(piece, sizeof piece, "\\%c", c);
    } else if (c < 0x20) {
      snprintf(piece, sizeof piece, "\\u%04x", c);
    } else {
      snprintf(piece, sizeof piece, "%c", c);
    }
    hr_put(out, piece);
  }
  hr_put(out, "\"");
}

// `,"key":"text"`, if there is a text.
static inline void hr_put_text(HrText *out, const char *key, const char *text) {
  if (text != NULL) {
    hr_put(out, ",\"");
    hr_put(out, key);
    hr_put(out, "\":");
    hr_put_quoted(out, text, strlen(text));
  }
}

// `,"key":["one","two"]` of "one, two".
static inline void hr_put_words(HrText *out, const char *key, const char *words) {
  const char *separator = "";
  if (words == NULL) {
    return;
  }
  hr_put(out, ",\"");
  hr_put(out, key);
  hr_put(out, "\":[");
  while (*words != '\0') {
    size_t len = strcspn(words, ", ");
    if (len > 0) {
      hr_put(out, separator);
      hr_put_quoted(out, words, len);
      separator = ",";
    }
    words += len;
    words += strspn(words, ", ");
  }
  hr_put(out, "]");
}

// A level is a number or a name.
static inline void hr_put_level(HrText *out, const char *level) {
  if (level != NULL && level[strspn(level, "-0123456789")] == '\0') {
    hr_put(out, ",\"level\":");
    hr_put(out, level);
  } else {
    hr_put_text(out, "level", level);
  }
}

static inline void hr_put_number(HrText *out, const char *key, double number) {
  char text[64];
  if (isfinite(number)) {
    snprintf(text, sizeof text, "%.17g", number);
    hr_put(out, ",\"");
    hr_put(out, key);
    hr_put(out, "\":");
    hr_put(out, text);
    hr_put(out, strpbrk(text, ".e") == NULL ? ".0" : "");
  }
}

static inline void hr_put_setting(HrText *out, const HrSetting *setting) {
  static const char *const KINDS[] = {"any", "bool", "int", "float", "string"};
  char text[64];
  hr_put(out, "{\"name\":");
  hr_put_quoted(out, setting->name, strlen(setting->name));
  hr_put_text(out, "doc", setting->doc);
  hr_put_text(out, "type", KINDS[setting->kind]);
  if (setting->is_required) {
    hr_put(out, ",\"required\":true");
  } else if (setting->kind == HR_VALUE_BOOL) {
    hr_put(out, setting->int_ != 0 ? ",\"default\":true" : ",\"default\":false");
  } else if (setting->kind == HR_VALUE_INT) {
    snprintf(text, sizeof text, ",\"default\":%lld", (long long)setting->int_);
    hr_put(out, text);
  } else if (setting->kind == HR_VALUE_FLOAT) {
    hr_put_number(out, "default", setting->float_);
  } else {
    hr_put_text(out, "default", setting->text);
  }
  hr_put_number(out, "min", setting->min);
  hr_put_number(out, "max", setting->max);
  hr_put(out, "}");
}

static inline void hr_put_settings(HrText *out, const HrSetting *settings, size_t count) {
  size_t i;
  hr_put(out, ",\"params\":[");
  for (i = 0; i < count; i++) {
    hr_put(out, i == 0 ? "" : ",");
    hr_put_setting(out, &settings[i]);
  }
  hr_put(out, "]}");
}

static inline void hr_write_hook(const void *described, HrText *out) {
  const HrHookSpec *spec = described;
  size_t i;
  hr_put(out, "{\"points\":[");
  for (i = 0; i < spec->point_count; i++) {
    const char *name = hr_point_name(spec->points[i].point);
    hr_put(out, i == 0 ? "" : ",");
    hr_put_quoted(out, name, strlen(name));
  }
  hr_put(out, spec->save == NULL ? "],\"state\":false" : "],\"state\":true");
  hr_put_text(out, "doc", spec->doc);
  hr_put_level(out, spec->level);
  hr_put_text(out, "every", spec->every);
  hr_put_words(out, "aliases", spec->aliases);
  hr_put_words(out, "mutates", spec->mutates);
  hr_put_words(out, "reads", spec->reads);
  hr_put_words(out, "writes", spec->writes);
  hr_put_words(out, "ops", spec->ops);
  hr_put_text(out, "on_error", spec->on_error);
  hr_put_text(out, "ranks", spec->ranks);
  hr_put_settings(out, spec->settings, spec->setting_count);
}

static inline void hr_write_metric(const void *described, HrText *out) {
  const HrMetricSpec *spec = described;
  hr_put(out, "{\"doc\":");
  hr_put_quoted(out, spec->doc == NULL ? "" : spec->doc, spec->doc == NULL ? 0 : strlen(spec->doc));
  hr_put_text(out, "better", spec->better);
  hr_put_text(out, "unit", spec->unit);
  hr_put_words(out, "aliases", spec->aliases);
  hr_put_words(out, "ops", spec->ops);
  hr_put_settings(out, spec->settings, spec->setting_count);
}

// The text that `write` writes, in memory that is never freed. It is empty if memory runs out; the host then refuses the manifest.
static inline HrStr hr_made(void (*write)(const void *described, HrText *out), const void *described) {
  HrText text = {NULL, 0};
  HrStr made = {NULL, 0};
  write(described, &text);
  text.at = malloc(text.len);
  if (text.at != NULL) {
    text.len = 0;
    write(described, &text);
    made.ptr = (const uint8_t *)text.at;
    made.len = text.len;
  }
  return made;
}

#endif // HOOKRACK_MANIFEST_H
