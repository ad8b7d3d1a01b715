// A hook in plain C: puts the norm of all gradients together, once per optimizer step.
//
//   cc -std=c11 -O2 -fPIC -shared -I plugin-api/include -o plugins/libgrad_norm_c.so plugins/grad_norm_c/*.c -lm
//
//   [[custom_hooks]]
//   type = "GradNormC"
//   name = "grads"          # the scalar is then hook/grads/grad_norm

#include "hookrack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct GradNorm {
  uint32_t key; // of the scalar: interned once, so that a step looks nothing up
} GradNorm;

// What the host checks a config against, before anything of this library runs. docs/abi.md has the fields.
static const char MANIFEST[] =
    "{\"name\":\"GradNormC\","
    "\"doc\":\"Puts the norm of all gradients together, before each optimizer step.\","
    "\"points\":[\"before_optimizer_step\"],"
    "\"level\":30,\"state\":false,\"mutates\":[],\"reads\":[],\"writes\":[\"events\",\"@grad_norm\"],\"on_error\":\"disable\","
    "\"params\":[{\"name\":\"scalar\",\"doc\":\"The scalar's name, after hook/<instance>/.\","
    "\"type\":\"string\",\"default\":\"grad_norm\"}]}";

static HrStr manifest(void) {
  return hr_str(MANIFEST);
}

static HrStatus create(const TrainerHandle *trainer, const HrValue *settings, void **out) {
  char name[128] = "@grad_norm"; // '@' scopes it by the instance: two of these do not write over each other
  const HrValue *scalar = hr_field(settings, "scalar");
  if (scalar != NULL) {
    if (scalar->kind != HR_VALUE_TEXT || scalar->text.len == 0 || scalar->text.len > sizeof name - 2) {
      return hr_fail(trainer, "scalar: expected a text of 1 to 126 bytes");
    }
    snprintf(name, sizeof name, "@%.*s", (int)scalar->text.len, (const char *)scalar->text.ptr);
  }
  GradNorm *self = malloc(sizeof *self);
  if (self == NULL) {
    return hr_fail(trainer, "out of memory");
  }
  if (!hr_ok(trainer->events->key(trainer->host, hr_str(name), 1, &self->key))) {
    free(self);
    return hr_fail_as_host(trainer);
  }
  *out = self;
  return HR_OK;
}

static void destroy(void *instance) {
  free(instance);
}

// How many elements follow each other in memory from the first on; -1 where they are not in order.
static int64_t elements_in_order(const HrDLTensor *view) {
  int64_t count = 1;
  for (int32_t i = view->ndim - 1; i >= 0; i--) {
    if (view->strides != NULL && view->shape[i] > 1 && view->strides[i] != count) {
      return -1;
    }
    count *= view->shape[i];
  }
  return count;
}

// Adds the squares of one gradient to `sum`: a double, so that among millions of floats the small ones still count.
static HrStatus add_squares(const TrainerHandle *trainer, HrTensor gradient, double *sum) {
  HrDLTensor view;
  if (!hr_ok(trainer->tensors->view(trainer->host, gradient, 0, &view))) {
    return hr_fail_as_host(trainer);
  }
  if (view.device.device_type != 1) {
    return hr_fail(trainer, "gradients are not on the CPU: this hook reads their memory");
  }
  if (view.dtype.code != 2 || view.dtype.bits != 32) {
    char why[96];
    snprintf(why, sizeof why, "expected float32 gradients, found DLPack type %d of %d bits", view.dtype.code,
             view.dtype.bits);
    return hr_fail(trainer, why);
  }
  int64_t count = elements_in_order(&view);
  if (count < 0) {
    return hr_fail(trainer, "a gradient's elements are not in order in memory");
  }
  const float *element = (const float *)((const char *)view.data + view.byte_offset);
  for (int64_t i = 0; i < count; i++) {
    *sum += (double)element[i] * element[i];
  }
  return HR_OK;
}

static HrStatus on_point(void *instance, uint32_t point, const TrainerHandle *trainer) {
  if (point != HR_POINT_BEFORE_OPTIMIZER_STEP) {
    return HR_OK;
  }
  const GradNorm *self = instance;
  HrTensors gradients;
  if (!hr_ok(trainer->tensors->list(trainer->host, HR_LIST_GRADS, &gradients))) {
    return hr_fail_as_host(trainer);
  }
  double sum = 0.0;
  for (size_t i = 0; i < gradients.len; i++) {
    // A frozen or unused parameter has no gradient.
    if (gradients.ptr[i] != HR_TENSOR_NONE && !hr_ok(add_squares(trainer, gradients.ptr[i], &sum))) {
      return HR_ERROR; // and the reason is given
    }
  }
  if (!hr_ok(trainer->events->put(trainer->host, self->key, sqrt(sum)))) {
    return hr_fail_as_host(trainer);
  }
  return HR_OK;
}

// Nothing to save: the norm is computed anew at each step.
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
    .name = HR_STR("GradNormC"),
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
    .name = HR_STR("grad_norm_c"),
    .version = HR_STR("0.1.0"),
    .built_with = HR_STR("C"),
    .hooks = HOOKS,
    .hook_count = 1,
};

const HrPlugin *hookrack_plugin(void) {
  return &PLUGIN;
}
