// A hook in plain C: logs the total gradient norm before each optimizer step.
//
//   cc -std=c11 -O2 -fPIC -shared -I plugin-api/include -o plugins/libgrad_norm_c.so plugins/grad_norm_c/*.c -lm
//
//   [[custom_hooks]]
//   type = "GradNormC"
//   name = "grads"          # the scalar is then hook/grads/grad_norm

#include "hookrack_plugin.h"

typedef struct GradNorm {
  const char *scalar;
  uint32_t key; // key of the scalar: looked up once, not in every step
} GradNorm;

static const HrSetting SETTINGS[] = {
    HR_TEXT(GradNorm, scalar, "grad_norm", "The scalar's name, after hook/<instance>/."),
};

// Called once, after the settings are set.
static HrStatus init(void *instance, const TrainerHandle *trainer) {
  GradNorm *self = instance;
  char name[128]; // '@' adds the instance's name as a prefix, so that two instances do not log the same scalar
  size_t len = strlen(self->scalar);
  if (len == 0 || len > sizeof name - 2) {
    return hr_fail(trainer, "scalar: expected a text of 1 to 126 bytes");
  }
  snprintf(name, sizeof name, "@%s", self->scalar);
  if (!hr_ok(trainer->events->key(trainer->host, hr_str(name), 1, &self->key))) {
    return hr_fail_as_host(trainer);
  }
  return HR_OK;
}

// The number of elements of a contiguous tensor; -1 if it is not contiguous.
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
    return hr_failf(trainer, "expected float32 gradients, found DLPack type %d of %d bits", view.dtype.code,
                    view.dtype.bits);
  }
  int64_t count = elements_in_order(&view);
  if (count < 0) {
    return hr_fail(trainer, "a gradient is not contiguous");
  }
  const float *element = (const float *)((const char *)view.data + view.byte_offset);
  for (int64_t i = 0; i < count; i++) {
    *sum += (double)element[i] * element[i];
  }
  return HR_OK;
}

static HrStatus before_optimizer_step(void *instance, const TrainerHandle *trainer) {
  const GradNorm *self = instance;
  HrTensors gradients;
  if (!hr_ok(trainer->tensors->list(trainer->host, HR_LIST_GRADS, &gradients))) {
    return hr_fail_as_host(trainer);
  }
  double sum = 0.0;
  for (size_t i = 0; i < gradients.len; i++) {
    // A frozen or unused parameter has no gradient.
    if (gradients.ptr[i] != HR_TENSOR_NONE && !hr_ok(add_squares(trainer, gradients.ptr[i], &sum))) {
      return HR_ERROR; // the message is already set
    }
  }
  if (!hr_ok(trainer->events->put(trainer->host, self->key, sqrt(sum)))) {
    return hr_fail_as_host(trainer);
  }
  return HR_OK;
}

static const HrAt POINTS[] = {{HR_POINT_BEFORE_OPTIMIZER_STEP, before_optimizer_step}};

HR_HOOK(GradNormC, .doc = "Logs the total gradient norm before each optimizer step.", .size = sizeof(GradNorm),
        .writes = "events, @grad_norm", .on_error = "disable", .init = init, HR_POINTS(POINTS), HR_SETTINGS(SETTINGS));
HR_PLUGIN("grad_norm_c", "0.1.0", HR_PLUGIN_HOOKS(&GradNormC));
