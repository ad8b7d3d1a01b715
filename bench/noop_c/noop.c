// The hook of noop_rust in plain C: counts its calls and does nothing else.

#include "hookrack.h"

#include <stdlib.h>

typedef struct Noop {
  uint64_t calls;
} Noop;

static HrStr manifest(void) {
  return hr_str("{\"name\":\"NoopC\",\"doc\":\"Counts its calls.\",\"points\":[\"after_train_iter\"],"
                "\"level\":30,\"state\":false,\"mutates\":[],\"reads\":[],\"writes\":[],"
                "\"on_error\":\"disable\",\"params\":[]}");
}

static HrStatus create(const TrainerHandle *trainer, const HrValue *settings, void **out) {
  (void)settings;
  *out = calloc(1, sizeof(Noop));
  return *out == NULL ? hr_fail(trainer, "out of memory") : HR_OK;
}

static void destroy(void *instance) {
  free(instance);
}

static HrStatus on_point(void *instance, uint32_t point, const TrainerHandle *trainer) {
  (void)trainer;
  if (point == HR_POINT_AFTER_TRAIN_ITER) {
    ((Noop *)instance)->calls++;
  }
  return HR_OK;
}

static HrStatus save_state(void *instance, const HrStateWriter *writer) {
  (void)instance, (void)writer;
  return HR_OK;
}

static HrStatus load_state(void *instance, const HrStateReader *reader) {
  (void)instance, (void)reader;
  return HR_OK;
}

static const HookBase HOOK = {
    .header = HR_HEADER(HookBase),
    .name = HR_STR("NoopC"),
    .manifest = manifest,
    .create = create,
    .destroy = destroy,
    .on_point = on_point,
    .save_state = save_state,
    .load_state = load_state,
};

static const HookBase *const HOOKS[] = {&HOOK};

static const HrPlugin PLUGIN = {
    .header = HR_HEADER(HrPlugin),
    .name = HR_STR("noop_c"),
    .version = HR_STR("0.1.0"),
    .built_with = HR_STR("C"),
    .hooks = HOOKS,
    .hook_count = 1,
};

const HrPlugin *hookrack_plugin(void) {
  return &PLUGIN;
}
