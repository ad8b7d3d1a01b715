// hookrack.h: the ABI between the hookrack host and its plugins, version 1.
//
// Generated from plugin-api/src/abi by `cargo run -p hookrack-header-gen`. Do not edit.
//
// A plugin is a shared library that exports one function:
//
//   const HrPlugin *hookrack_plugin(void);
//
// Its HrPlugin lists one HookBase for each kind of hook and one MetricBase for each kind of metric. The host calls
// them; they call the host through the TrainerHandle that they receive. hookrack_plugin.h (C) and hookrack.hpp (C++)
// make these tables from a few lines; docs/abi.md has the rules.
//
// - Memory is freed by the side that allocated it. Borrowed values are valid until the call returns, unless stated otherwise.
// - A status is HR_OK or a failure; call `set_error` before returning a failure.
// - No exception may leave a function of a plugin: in C++ mark them noexcept.
// - The brackets at the end of a comment are the contract: which thread may call, and how long a result is valid.
//
// [train-thread] is the thread that calls `create` and every point. [any-thread] functions may be called from any thread.

#ifndef HOOKRACK_H
#define HOOKRACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// "HOOKRACK" read as a little-endian number.
#define HR_MAGIC UINT64_C(0x4b4341524b4f4f48)

// The id of the extension whose table is ArtifactTable.
#define HR_ARTIFACTS "hookrack.artifacts/1"

// The id of the extension whose table is AutogradTable.
#define HR_AUTOGRAD "hookrack.autograd/1"

// The id of the extension whose table is CheckpointNameTable.
#define HR_CHECKPOINT_NAMES "hookrack.checkpoint_names/1"

// The id of the extension whose table is CheckpointTable.
#define HR_CHECKPOINTS "hookrack.checkpoints/1"

// The id of the extension whose table is ConsoleTable.
#define HR_CONSOLE "hookrack.console/1"

// The id of the extension whose table is FileTable.
#define HR_FILES "hookrack.files/1"

// The id of the extension whose table is GradientTable.
#define HR_GRADIENTS "hookrack.gradients/1"

// The id of the extension whose table is HistoryTable.
#define HR_HISTORY "hookrack.history/1"

// The id of the extension whose table is LayerTable.
#define HR_LAYERS "hookrack.layers/1"

// The id of the extension whose table is LossTable.
#define HR_LOSS "hookrack.loss/1"

// The id of the extension whose table is LrTable.
#define HR_LR "hookrack.lr/1"

// The id of the extension whose table is MediaTable.
#define HR_MEDIA "hookrack.media/1"

// The id of the extension whose table is MetricTable.
#define HR_METRICS "hookrack.metrics/1"

// The id of the extension whose table is ModelTable.
#define HR_MODELS "hookrack.models/1"

// The id of the extension whose table is NamedTensorTable.
#define HR_NAMED_TENSORS "hookrack.named_tensors/1"

// The id of the extension whose table is ParamTable.
#define HR_PARAMS "hookrack.params/1"

// The id of the extension whose table is PassTable.
#define HR_PASS "hookrack.pass/1"

// The id of the extension whose table is PrecisionTable.
#define HR_PRECISION "hookrack.precision/1"

// The id of the extension whose table is ProfilerTable.
#define HR_PROFILER "hookrack.profiler/1"

// The id of the extension whose table is RankTable.
#define HR_RANKS "hookrack.ranks/1"

// The id of the extension whose table is RecordTable.
#define HR_RECORD "hookrack.record/1"

// The id of the extension whose table is RoleTable.
#define HR_ROLES "hookrack.roles/1"

// The id of the extension whose table is StepTable.
#define HR_STEP "hookrack.step/1"

// The hook is attached to the run, before anything else. Check settings here that depend on the run.
#define HR_POINT_ON_ATTACH 0

// Before everything: training, evaluation or prediction. Writers are opened here.
#define HR_POINT_BEFORE_RUN 1

// After a checkpoint was loaded, whole or only its weights.
#define HR_POINT_AFTER_LOAD_CHECKPOINT 2

// Before training; also called after a resume.
#define HR_POINT_BEFORE_TRAIN 3

// Before an epoch or pass, in every phase.
#define HR_POINT_BEFORE_EPOCH 4

// Before a training epoch; not called again when a run is resumed in the middle of it.
#define HR_POINT_BEFORE_TRAIN_EPOCH 5

// Before an iteration, in every phase. Must be cheap: iteration time includes it.
#define HR_POINT_BEFORE_ITER 6

// Before a training iteration, with its batch; the batch can be changed here. Must be cheap.
#define HR_POINT_BEFORE_TRAIN_ITER 7

// ROLE: computes output and loss of a training micro-batch.
#define HR_POINT_ON_TRAIN_FORWARD 8

// ROLE: computes output and loss in every phase whose own forward role no hook has.
#define HR_POINT_ON_ITER_FORWARD 9

// After the forward pass of a micro-batch, with its output and loss.
#define HR_POINT_AFTER_FORWARD 10

// Before the backward pass of a micro-batch.
#define HR_POINT_BEFORE_BACKWARD 11

// ROLE: computes the gradients of the loss.
#define HR_POINT_ON_ITER_BACKWARD 12

// After the backward pass of a micro-batch; its gradients are accumulated.
#define HR_POINT_AFTER_BACKWARD 13

// Before the optimizer step, with all gradients unscaled and clipped.
#define HR_POINT_BEFORE_OPTIMIZER_STEP 14

// ROLE: updates the parameters.
#define HR_POINT_ON_OPTIMIZER_STEP 15

// After the optimizer step, with the updated parameters.
#define HR_POINT_AFTER_OPTIMIZER_STEP 16

// ROLE: sets the learning rate of the next iteration or epoch.
#define HR_POINT_ON_LR_ADJUST 17

// After a training iteration; output, label and loss are still valid.
#define HR_POINT_AFTER_TRAIN_ITER 18

// After an iteration, in every phase.
#define HR_POINT_AFTER_ITER 19

// After a training epoch, before its validation.
#define HR_POINT_AFTER_TRAIN_EPOCH 20

// After an epoch or pass, in every phase.
#define HR_POINT_AFTER_EPOCH 21

// Before a validation.
#define HR_POINT_BEFORE_VAL 22

// Before a test.
#define HR_POINT_BEFORE_TEST 23

// Before a prediction.
#define HR_POINT_BEFORE_PRED 24

// Before a validation or a test; `after_eval` always follows. Swap in averaged weights here.
#define HR_POINT_BEFORE_EVAL 25

// Before the pass over the validation or test data.
#define HR_POINT_BEFORE_EVAL_EPOCH 26

// Before the pass over the validation data.
#define HR_POINT_BEFORE_VAL_EPOCH 27

// Before the pass over the test data.
#define HR_POINT_BEFORE_TEST_EPOCH 28

// Before the pass over the data to predict.
#define HR_POINT_BEFORE_PRED_EPOCH 29

// Before a validation or test iteration.
#define HR_POINT_BEFORE_EVAL_ITER 30

// Before a validation iteration.
#define HR_POINT_BEFORE_VAL_ITER 31

// Before a test iteration.
#define HR_POINT_BEFORE_TEST_ITER 32

// Before a prediction iteration.
#define HR_POINT_BEFORE_PRED_ITER 33

// ROLE: computes output and loss of a validation or test batch.
#define HR_POINT_ON_VAL_FORWARD 34

// ROLE: computes the output of a batch to predict.
#define HR_POINT_ON_PRED_FORWARD 35

// After a validation iteration.
#define HR_POINT_AFTER_VAL_ITER 36

// After a test iteration.
#define HR_POINT_AFTER_TEST_ITER 37

// After a prediction iteration; the output is still valid.
#define HR_POINT_AFTER_PRED_ITER 38

// After a validation or test iteration; output, label and loss are still valid.
#define HR_POINT_AFTER_EVAL_ITER 39

// After the pass over the validation data.
#define HR_POINT_AFTER_VAL_EPOCH 40

// After the pass over the test data.
#define HR_POINT_AFTER_TEST_EPOCH 41

// After the pass over the data to predict.
#define HR_POINT_AFTER_PRED_EPOCH 42

// After the pass over the validation or test data.
#define HR_POINT_AFTER_EVAL_EPOCH 43

// After a validation or a test; always if `before_eval` was reached, also if the pass failed or was interrupted by a signal. Restore here what `before_eval` changed.
#define HR_POINT_AFTER_EVAL 44

// After a complete validation.
#define HR_POINT_AFTER_VAL 45

// After a complete test.
#define HR_POINT_AFTER_TEST 46

// After a prediction; always if `before_pred` was reached, as `after_eval`.
#define HR_POINT_AFTER_PRED 47

// After a training epoch and its validation, with the metrics of both.
#define HR_POINT_AFTER_CYCLE 48

// Before a checkpoint is taken.
#define HR_POINT_BEFORE_SAVE_CHECKPOINT 49

// After a checkpoint was taken; its files are written in the background.
#define HR_POINT_AFTER_SAVE_CHECKPOINT 50

// After a failure; `failure` of the trainer has the error.
#define HR_POINT_ON_EXCEPTION 51

// After training, however it ended; always if `before_train` was reached.
#define HR_POINT_AFTER_TRAIN 52

// After the run, however it ended.
#define HR_POINT_AFTER_RUN 53

// The hook is detached from the run; called in reverse order.
#define HR_POINT_ON_DETACH 54

// Before clipping, with all gradients of the whole batch, unscaled; also if the config does not clip. Gradients that a hook changes here are clipped afterwards. Lightning's `on_before_optimizer_step`.
#define HR_POINT_BEFORE_CLIP_GRAD 55

// A plugin and a host of different major versions refuse each other.
#define HR_ABI_MAJOR 1

// Incremented when points or extensions are added; either side may be older.
#define HR_ABI_MINOR 2

// The table was made by the Rust macros.
#define HR_FLAG_RUST 1

// The library was compiled with panic=abort: a panic in it would end the host.
#define HR_FLAG_PANIC_ABORT 2

// The value of the last batch.
#define HR_METRIC_STEP 0

// The value over all batches since the last reset.
#define HR_METRIC_EPOCH 1

// The value in the middle of a pass, without side effects. A metric that does not know this scope answers as for
// `HR_METRIC_EPOCH`.
#define HR_METRIC_SO_FAR 2

// 32-bit floats.
#define HR_PRECISION_FP32 0

// bfloat16 where that is safe.
#define HR_PRECISION_BF16 1

// float16 where that is safe, with loss scaling.
#define HR_PRECISION_FP16 2

// Record the shapes of inputs.
#define HR_PROFILE_SHAPES 1

// Record allocations and deallocations.
#define HR_PROFILE_MEMORY 2

// Estimate floating point operations; needs shapes.
#define HR_PROFILE_FLOPS 4

// A reduction: the sum.
#define HR_REDUCE_SUM 0

// A reduction: the maximum.
#define HR_REDUCE_MAX 1

// A reduction: the minimum.
#define HR_REDUCE_MIN 2

// An omitted argument, or no result.
#define HR_ARG_NONE 0

// `int_` is a tensor handle.
#define HR_ARG_TENSOR 1

// `ptr` points to `len` tensor handles.
#define HR_ARG_TENSORS 2

// `float_` is the value.
#define HR_ARG_FLOAT 3

// `int_` is the value.
#define HR_ARG_INT 4

// `int_` is 0 or 1.
#define HR_ARG_BOOL 5

// `ptr` points to `len` bytes of UTF-8: a text, a dtype ("float32") or a device ("cpu").
#define HR_ARG_TEXT 6

// `ptr` points to `len` 64-bit integers.
#define HR_ARG_INTS 7

// `ptr` points to `len` doubles.
#define HR_ARG_FLOATS 8

// The current batch's input.
#define HR_SLOT_INPUT 0

// The current batch's label.
#define HR_SLOT_LABEL 1

// The output of the model.
#define HR_SLOT_OUTPUT 2

// The loss.
#define HR_SLOT_LOSS 3

// The total norm of the gradients, computed on first use.
#define HR_SLOT_GRAD_NORM 4

// The model's parameters.
#define HR_LIST_PARAMS 0

// Their gradients, in the same order; a parameter without one has handle 0.
#define HR_LIST_GRADS 1

// The buffers of the model.
#define HR_LIST_BUFFERS 2

// Request a writable view. Refused unless the manifest declares that the hook mutates something.
#define HR_VIEW_WRITE 1

// Log level: an error.
#define HR_LOG_ERROR 1

// Log level: a warning.
#define HR_LOG_WARN 2

// Log level: information.
#define HR_LOG_INFO 3

// Log level: debug.
#define HR_LOG_DEBUG 4

// Log level: trace.
#define HR_LOG_TRACE 5

// Request that the run ends at the next boundary.
#define HR_REQUEST_STOP 1

// Request a validation after the current iteration or epoch.
#define HR_REQUEST_VALIDATE 2

// Request a checkpoint after the current iteration or epoch.
#define HR_REQUEST_SAVE 3

// A metric's value of the last batch.
#define HR_METRIC_LATEST_STEP 0

// A metric's value over the last complete pass.
#define HR_METRIC_LATEST_EPOCH 1

// Nothing.
#define HR_VALUE_NONE 0

// `int_` is 0 or 1.
#define HR_VALUE_BOOL 1

// `int_` is the value.
#define HR_VALUE_INT 2

// `float_` is the value.
#define HR_VALUE_FLOAT 3

// `text` is the value.
#define HR_VALUE_TEXT 4

// `items` points to `len` values.
#define HR_VALUE_LIST 5

// `items` points to `len` values, each with its `key`.
#define HR_VALUE_TABLE 6

// The first field of every table.
typedef struct HrHeader {
  // `HR_MAGIC`.
  uint64_t magic;
  // The size in bytes of the table this header begins.
  uint32_t struct_size;
  // The major version it was built against.
  uint16_t abi_major;
  // The minor version it was built against.
  uint16_t abi_minor;
  // `HR_FLAG_*` bits; unknown ones are ignored.
  uint64_t flags;
} HrHeader;

// Borrowed UTF-8 text: a pointer and a length, no terminating zero.
typedef struct HrStr {
  // The first byte; may be null when `len` is 0.
  const uint8_t *ptr;
  // The number of bytes.
  size_t len;
} HrStr;

// The status of a call. Any number but 0 is a failure; `set_error` and `last_error` have its message.
typedef int32_t HrStatus;
// Success.
#define HR_OK 0
// Failure, with a message.
#define HR_ERROR 1
// The plugin panicked; the panic was caught on its side.
#define HR_PANIC 2
// Not found: an absent tensor, an unknown key.
#define HR_ABSENT 3

// The progress of the run: plain fields that the host updates in place, so reading one is not a call. [train-thread]
typedef struct HrProgress {
  // The size of this struct in the host.
  uint32_t struct_size;
  // 0 train, 1 val, 2 test, 3 pred.
  uint32_t phase;
  // The current epoch, from 1; between epochs, the number of epochs started.
  uint64_t epoch;
  // The current training iteration, from 1; between iterations, the number of iterations started.
  uint64_t iter;
  // The current iteration within the epoch or pass, from 1.
  uint64_t inner_iter;
  // The number of iterations in an epoch or pass of the current phase.
  uint64_t inner_len;
  // The configured number of epochs.
  uint64_t max_epochs;
  // The number of iterations after which training is complete.
  uint64_t max_iters;
  // The index of the current micro-batch, from 0.
  uint32_t micro;
  // The number of micro-batches in the iteration.
  uint32_t micros;
  // Training samples consumed.
  uint64_t samples;
  // Samples in the current batch.
  uint64_t batch_size;
  // The rank of this process, from 0.
  uint32_t rank;
  // The number of ranks.
  uint32_t world;
  // The run's seed.
  uint64_t seed;
  // The learning rate of the largest parameter group, by number of parameters; the first if there are several.
  double lr;
  // Seconds spent waiting for the current batch.
  double data_time;
  // Seconds from requesting the batch to the end of the last role of the current iteration; 0 before that.
  double iter_time;
  // How the run ended: 0 not yet, 1 completed, 2 stopped, 3 interrupted, 4 failed.
  uint32_t outcome;
  // Where `on_exception` was raised: the point's code, or 0xffffffff outside of any point.
  uint32_t failed_point;
} HrProgress;

// A handle to a tensor that the host keeps; 0 for none. Using a handle that was released, or whose iteration has ended,
// is an error.
typedef uint64_t HrTensor;
// No tensor.
#define HR_TENSOR_NONE 0

// A borrowed list of handles.
typedef struct HrTensors {
  // The first handle.
  const HrTensor *ptr;
  // The number of handles.
  size_t len;
} HrTensors;

// DLPack's device.
typedef struct HrDevice {
  // 1 CPU, 2 CUDA.
  int32_t device_type;
  // The index of the device.
  int32_t device_id;
} HrDevice;

// DLPack's element type.
typedef struct HrDataType {
  // 0 signed integer, 1 unsigned integer, 2 float, 4 bfloat, 5 complex, 6 bool.
  uint8_t code;
  // Bits of one element.
  uint8_t bits;
  // Always 1.
  uint16_t lanes;
} HrDataType;

// DLPack's borrowed tensor, field by field as in dlpack.h.
typedef struct HrDLTensor {
  // The first element (with `byte_offset` added).
  void *data;
  // Where the memory is.
  struct HrDevice device;
  // The number of dimensions.
  int32_t ndim;
  // The element type.
  struct HrDataType dtype;
  // `ndim` sizes.
  const int64_t *shape;
  // `ndim` strides in elements.
  const int64_t *strides;
  // Bytes from `data` to the first element.
  uint64_t byte_offset;
} HrDLTensor;

// An operator that was looked up; valid for the life of the process.
typedef uint64_t HrOp;

// An argument or a result of an operator.
typedef struct HrArg {
  // An `HR_ARG_*` number: which of the fields below counts.
  uint32_t kind;
  // A handle, an integer or a boolean.
  int64_t int_;
  // A float.
  double float_;
  // The first element of a list.
  const void *ptr;
  // The number of elements of a list.
  size_t len;
} HrArg;

// Tensors and operators.
typedef struct TensorTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The tensor of a `HR_SLOT_*`; HR_ABSENT if there is none at this point. [train-thread] [borrowed until the iteration
  // ends]
  HrStatus (*slot)(void *host, uint32_t slot, HrTensor *out);
  // Replaces the tensor of HR_SLOT_OUTPUT or HR_SLOT_LOSS, in a role; since 1.2 also that of HR_SLOT_INPUT or HR_SLOT_LABEL, at
  // `before_*iter`, with the same number of rows. Refused elsewhere. [train-thread]
  HrStatus (*set_slot)(void *host, uint32_t slot, HrTensor tensor);
  // The handles of a `HR_LIST_*`. [train-thread] [the row is borrowed until the next call; parameters and buffers
  // keep their handles for the whole run, gradients until the iteration ends]
  HrStatus (*list)(void *host, uint32_t list, struct HrTensors *out);
  // The name of the tensor at `index` of HR_LIST_PARAMS or HR_LIST_BUFFERS. [train-thread] [borrowed for the run]
  HrStatus (*name)(void *host, uint32_t list, size_t index, struct HrStr *out);
  // Another handle to the same tensor, which stays valid until the caller releases it. [train-thread]
  HrStatus (*keep)(void *host, HrTensor tensor, HrTensor *out);
  // Releases `count` handles that the caller owns. [train-thread]
  void (*release)(void *host, const HrTensor *tensors, size_t count);
  // The value of a tensor with one element. Waits for the device. [train-thread]
  HrStatus (*item)(void *host, HrTensor tensor, double *out);
  // A view of a tensor's memory, without a copy. [train-thread] [borrowed until the calling point returns]
  HrStatus (*view)(void *host, HrTensor tensor, uint32_t flags, struct HrDLTensor *out);
  // A new tensor with a copy of the viewed memory, to be released by the caller. [train-thread]
  HrStatus (*from_view)(void *host, const struct HrDLTensor *view, HrTensor *out);
  // Looks up an operator of libtorch by name, such as `aten::lerp_.Scalar`. [train-thread] [valid for the process]
  HrStatus (*op_find)(void *host, struct HrStr name, HrOp *out);
  // Calls an operator. Trailing arguments may be omitted if the operator has defaults. A `_foreach_` operator skips
  // entries whose handle is 0; they are 0 in a list of results too. Writes at most `capacity` results, and their
  // number to `count`. Result tensors are owned by the caller; a result's list of handles is borrowed until the next
  // operator call. [train-thread]
  HrStatus (*op_call)(void *host,
                      HrOp op,
                      const struct HrArg *args,
                      size_t arg_count,
                      struct HrArg *results,
                      size_t capacity,
                      size_t *count);
} TensorTable;

// The steps of training. `model`, `group_count` and `lr` may be called at every point, the others in a role, and
// elsewhere by hooks that declare in `mutates` what they change.
typedef struct EngineTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Runs the model on the current input and sets HR_SLOT_OUTPUT. In training it is an error if another hook has the
  // forward role: `hookrack.roles/1` runs that hook. [train-thread]
  HrStatus (*forward)(void *host);
  // Runs the model on `input`; the result belongs to the caller. [train-thread]
  HrStatus (*model)(void *host, HrTensor input, HrTensor *out);
  // Computes the configured loss of HR_SLOT_OUTPUT and HR_SLOT_LABEL into HR_SLOT_LOSS; an error as for `forward`. [train-thread]
  HrStatus (*criterion)(void *host);
  // Computes the gradients of HR_SLOT_LOSS, weighted by the micro-batch's share of the batch, and adds them. From
  // `before_optimizer_step` on, HR_SLOT_LOSS is that of the whole batch and the gradients are unscaled. [train-thread]
  HrStatus (*backward)(void *host);
  // Updates the parameters with their gradients, which stay until the iteration ends. [train-thread]
  HrStatus (*optimizer_step)(void *host);
  // Advances the configured schedule and sets the learning rates. [train-thread]
  HrStatus (*lr_step)(void *host);
  // The number of parameter groups of the optimizer. [train-thread]
  size_t (*group_count)(void *host);
  // A group's learning rate. [train-thread]
  HrStatus (*lr)(void *host, size_t group, double *out);
  // Sets a group's learning rate. [train-thread]
  HrStatus (*set_lr)(void *host, size_t group, double lr);
} EngineTable;

// The last values of a metric.
typedef struct HrMetricReading {
  // Its name, with `.suffix` for one of several values. [borrowed until the point returns]
  struct HrStr name;
  // The phase it is computed in.
  uint32_t phase;
  // 1 if higher is better, -1 if lower is, 0 if neither.
  int32_t better;
  // The value of the last batch; NaN if there is none.
  double step;
  // The value over the last complete pass; NaN if there is none.
  double epoch;
} HrMetricReading;

// The last value of a scalar.
typedef struct HrScalarReading {
  // Its full name. [borrowed for the run]
  struct HrStr name;
  // Its key.
  uint32_t key;
  // Whether the console shows a median: 0 or 1.
  uint32_t smooth;
  // The training iteration of its last value.
  uint64_t iter;
  // Its last value.
  double latest;
} HrScalarReading;

// Scalars that writers read, and the values of metrics.
typedef struct EventTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The key of a scalar, looked up once. A name without '/' is prefixed with the current phase, one that begins with
  // '@' with this instance: `@norm` is `hook/<instance>/norm`. With `smooth` the console shows a median; files have
  // the values. [train-thread] [valid for the run]
  HrStatus (*key)(void *host, struct HrStr name, uint32_t smooth, uint32_t *out);
  // Logs a value for the current iteration. Does not allocate. [train-thread]
  HrStatus (*put)(void *host, uint32_t key, double value);
  // The last value; HR_ABSENT if there is none. [train-thread]
  HrStatus (*latest)(void *host, uint32_t key, double *out);
  // The median of the last `window` values. [train-thread]
  HrStatus (*median)(void *host, uint32_t key, size_t window, double *out);
  // Makes the writers write what was logged since the last time. [train-thread]
  HrStatus (*write)(void *host);
  // A metric's value by phase, name (`Accuracy`, or `F1.macro` for one of several) and `HR_METRIC_LATEST_*`;
  // HR_ABSENT before it was computed. [train-thread]
  HrStatus (*metric)(void *host, uint32_t phase, struct HrStr name, uint32_t which, double *out);
  // The metric at `index` among all that have a value; HR_ABSENT past the last. [train-thread]
  HrStatus (*metric_at)(void *host, size_t index, struct HrMetricReading *out);
  // The scalar at `index` among all that have a value; HR_ABSENT past the last. [train-thread]
  HrStatus (*scalar_at)(void *host, size_t index, struct HrScalarReading *out);
} EventTable;

// One value of a settings tree, borrowed until the call returns.
typedef struct HrValue {
  // A `HR_VALUE_*` number: which of the fields below counts.
  uint32_t kind;
  // Its key, if it is an entry of a table.
  struct HrStr key;
  // The number of a HR_VALUE_INT or HR_VALUE_BOOL.
  int64_t int_;
  // The number of a HR_VALUE_FLOAT.
  double float_;
  // The text of a HR_VALUE_TEXT.
  struct HrStr text;
  // The values of a HR_VALUE_LIST or HR_VALUE_TABLE.
  const struct HrValue *items;
  // The number of `items`.
  size_t len;
} HrValue;

// Values shared between hooks by name.
typedef struct StateTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Sets or replaces a value. [train-thread] [borrowed until return]
  HrStatus (*put)(void *host, struct HrStr key, const struct HrValue *value);
  // A value; null if there is none. [train-thread] [borrowed until the next call of this table]
  const struct HrValue *(*value)(void *host, struct HrStr key);
  // Removes a value; HR_ABSENT if there is none. [train-thread]
  HrStatus (*remove)(void *host, struct HrStr key);
} StateTable;

// The handle that an instance receives, at the same address from `create` until `destroy` returns.
typedef struct TrainerHandle {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The first argument of each function.
  void *host;
  // The progress of the run.
  const struct HrProgress *progress;
  // The instance's name in the config. [borrowed for the run]
  struct HrStr instance;
  // The most detailed `HR_LOG_*` level that is enabled.
  const uint32_t *log_level;
  // Tensors.
  const struct TensorTable *tensors;
  // The engine, for roles.
  const struct EngineTable *engine;
  // Scalars and metrics.
  const struct EventTable *events;
  // Shared values.
  const struct StateTable *states;
  // The table of an extension by its id, such as `hookrack.artifacts/1`; null if this host does not have it.
  // [any-thread] [valid for the process]
  const void *(*extension)(void *host, struct HrStr id);
  // Logs a message. [any-thread] [borrowed until return]
  void (*log)(void *host, uint32_t level, struct HrStr target, struct HrStr message);
  // Sets the message of the failure that is about to be returned. [train-thread] [borrowed until return]
  void (*set_error)(void *host, struct HrStr message);
  // The message of the last failed call of this handle. [train-thread] [borrowed until the next call]
  struct HrStr (*last_error)(void *host);
  // Makes a request, one of `HR_REQUEST_*`, with a reason. [train-thread] [borrowed until return]
  HrStatus (*request)(void *host, uint32_t what, struct HrStr why);
  // The error of a failed run, at `on_exception` and later points; empty if there is none. [train-thread] [borrowed
  // until return of the point]
  struct HrStr (*failure)(void *host);
} TrainerHandle;

// Receives the state of a hook, entry by entry. Valid until the call returns. [train-thread]
typedef struct HrStateWriter {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The first argument of each function.
  void *sink;
  // Saves a value. [borrowed until return]
  HrStatus (*put_value)(void *sink, struct HrStr key, const struct HrValue *value);
  // Saves a tensor's contents. [borrowed until return]
  HrStatus (*put_tensor)(void *sink, struct HrStr key, HrTensor tensor);
} HrStateWriter;

// The saved state of a hook, by key. Valid until the call returns. [train-thread]
typedef struct HrStateReader {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The first argument of each function.
  void *source;
  // A saved value; null if there is none. [borrowed until return of the hook]
  const struct HrValue *(*value)(void *source, struct HrStr key);
  // A saved tensor, to be released by the caller; HR_ABSENT if there is none.
  HrStatus (*tensor)(void *source, struct HrStr key, HrTensor *out);
} HrStateReader;

// One kind of hook. Frozen for the major version: new points are new codes of `on_point`.
typedef struct HookBase {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Its `type` in configs. [borrowed for the process]
  struct HrStr name;
  // A JSON object: doc, points, level, params, mutates, reads, writes. docs/abi.md has its fields. [any-thread]
  // [borrowed for the process]
  struct HrStr (*manifest)(void);
  // Creates an instance with its settings. `trainer` stays valid until `destroy` returns. [train-thread] [settings
  // borrowed until return]
  HrStatus (*create)(const struct TrainerHandle *trainer, const struct HrValue *settings, void **out);
  // Destroys an instance. [train-thread]
  void (*destroy)(void *instance);
  // Called at each point that the manifest lists. Returns HR_OK for an unknown code. [train-thread]
  HrStatus (*on_point)(void *instance, uint32_t point, const struct TrainerHandle *trainer);
  // Saves what a resumed run needs. [train-thread]
  HrStatus (*save_state)(void *instance, const struct HrStateWriter *writer);
  // Restores it. [train-thread]
  HrStatus (*load_state)(void *instance, const struct HrStateReader *reader);
} HookBase;

// Receives the values of a metric. Valid until the call returns. [train-thread]
typedef struct HrScalarSink {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The first argument of the function.
  void *sink;
  // Receives one value; `suffix` is empty for the main value. [borrowed until return]
  HrStatus (*put)(void *sink, struct HrStr suffix, double value);
} HrScalarSink;

// One kind of metric. Frozen for the major version.
typedef struct MetricBase {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Its `type` in configs. [borrowed for the process]
  struct HrStr name;
  // A JSON object: doc, params, unit, direction. [any-thread] [borrowed for the process]
  struct HrStr (*manifest)(void);
  // Creates an instance with its settings. `trainer` stays valid until `destroy` returns. [train-thread] [settings
  // borrowed until return]
  HrStatus (*create)(const struct TrainerHandle *trainer, const struct HrValue *settings, void **out);
  // Destroys an instance. [train-thread]
  void (*destroy)(void *instance);
  // Adds the current batch: output, label and loss are those of `trainer`. [train-thread]
  HrStatus (*update)(void *instance, const struct TrainerHandle *trainer);
  // Passes the values of a `HR_METRIC_*` scope to the sink, without changing the metric. [train-thread]
  HrStatus (*compute)(void *instance, uint32_t scope, const struct HrScalarSink *sink);
  // Removes all batches. [train-thread]
  HrStatus (*reset)(void *instance);
  // Saves the accumulated values. [train-thread]
  HrStatus (*save_state)(void *instance, const struct HrStateWriter *writer);
  // Replaces the accumulated values by saved ones. [train-thread]
  HrStatus (*load_state)(void *instance, const struct HrStateReader *reader);
  // Adds the saved values of another instance. [train-thread]
  HrStatus (*merge)(void *instance, const struct HrStateReader *reader);
} MetricBase;

// The hooks and metrics of a library.
typedef struct HrPlugin {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The library's name. [borrowed for the process]
  struct HrStr name;
  // The library's version. [borrowed for the process]
  struct HrStr version;
  // The compiler that built it, for messages. [borrowed for the process]
  struct HrStr built_with;
  // Its hooks.
  const struct HookBase *const *hooks;
  // The number of hooks.
  size_t hook_count;
  // Its metrics.
  const struct MetricBase *const *metrics;
  // The number of metrics.
  size_t metric_count;
} HrPlugin;

// The run directory, and tensors saved in it.
typedef struct ArtifactTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The run directory; empty if the run has none. [train-thread] [borrowed for the run]
  struct HrStr (*run_dir)(void *host);
  // Writes tensors to `file` (relative to the run directory, ending in `.safetensors`) atomically. [train-thread]
  // [borrowed until return]
  HrStatus (*save_tensors)(void *host,
                           struct HrStr file,
                           const struct HrStr *names,
                           const HrTensor *tensors,
                           size_t count);
} ArtifactTable;

// Gradient recording.
typedef struct AutogradTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Turns gradient recording on (1) or off (0) and returns the previous mode. The host restores the mode when the hook
  // returns. [train-thread]
  HrStatus (*set_recording)(void *host, uint32_t on, uint32_t *was);
} AutogradTable;

// Second names of checkpoints.
typedef struct CheckpointNameTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Sets the pattern of a second name for the checkpoints that this hook requests; empty for none. It replaces the
  // previous pattern. `{iter}` and `{epoch}` are replaced by the checkpoint's. A pattern without either names one
  // checkpoint at a time: the best one if the hook called `keep` with a metric, otherwise the newest. In `folder/pattern`
  // the folder, which is created if missing, gets the checkpoints of the run: call it before the first one is
  // written. [train-thread] [borrowed until return]
  HrStatus (*give)(void *host, struct HrStr pattern);
  // Like `load` of `hookrack.checkpoints/1`, but only from checkpoints whose second name ends in `suffix`. [train-thread]
  // [borrowed until return]
  HrStatus (*load)(void *host,
                   struct HrStr path,
                   int64_t epoch,
                   struct HrStr suffix,
                   uint32_t weights,
                   uint32_t strict);
} CheckpointNameTable;

// Which checkpoints are kept, and which one is loaded.
typedef struct CheckpointTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Sets which of the checkpoints that this hook requests are kept, replacing the previous setting: the `last` newest
  // (negative for all), one every `every_epochs` epochs and every `every_iters` iterations (0 for none), and the `top`
  // best by `metric` (empty for none), where `higher` is 1 if higher is better. [train-thread] [borrowed until return]
  HrStatus (*keep)(void *host,
                   int64_t last,
                   uint64_t every_epochs,
                   uint64_t every_iters,
                   struct HrStr metric,
                   uint32_t higher,
                   uint64_t top);
  // Loads a checkpoint after this point; call it at `before_train`. `path` is a checkpoint or a run directory, empty
  // for this run's; `epoch` selects the checkpoint, negative for the newest. `weights` 1 loads only the model;
  // `strict` 0 skips tensors that do not match. [train-thread] [borrowed until return]
  HrStatus (*load)(void *host, struct HrStr path, int64_t epoch, uint32_t weights, uint32_t strict);
} CheckpointTable;

// The progress line of the console. Without one, both calls do nothing.
typedef struct ConsoleTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Sets the scalars of the line, in order; a name without '/' is a scalar of training. [train-thread] [borrowed until
  // return]
  HrStatus (*show)(void *host, const struct HrStr *names, size_t count);
  // Redraws the line on a terminal. Elsewhere a line is printed only when scalars are written. [train-thread]
  HrStatus (*redraw)(void *host);
} ConsoleTable;

// Files in the run directory.
typedef struct FileTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Writes `len` bytes to `file` (relative to the run directory; folders are created) atomically. [train-thread]
  // [borrowed until return]
  HrStatus (*write)(void *host, struct HrStr file, const uint8_t *bytes, size_t len);
} FileTable;

// Gradients that are returned instead of added to those of the parameters.
typedef struct GradientTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Writes the gradient of a tensor with one element with respect to each of `count` inputs, 0 for one that it does not
  // depend on, to `out`. Gradients of parameters and the graph stay as they are. With `create_graph` 1 the results have a
  // graph of their own. It is an error if an input does not record gradients. [train-thread] [owned by the caller: the
  // gradients]
  HrStatus (*compute)(void *host,
                      HrTensor of,
                      const HrTensor *inputs,
                      size_t count,
                      uint32_t create_graph,
                      HrTensor *out);
} GradientTable;

// One value of a scalar.
typedef struct HrScalarPoint {
  // The training iteration in which it was logged.
  uint64_t iter;
  // The number of training samples consumed by then.
  uint64_t samples;
  // The value.
  double value;
} HrScalarPoint;

// The history of scalars, and scopes of names.
typedef struct HistoryTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The mean of the last `window` values without NaN, of which the host keeps a limited number; HR_ABSENT if there is
  // none. [train-thread]
  HrStatus (*mean)(void *host, uint32_t key, size_t window, double *out);
  // The mean of all values since the start of the run without NaN; HR_ABSENT if there is none. [train-thread]
  HrStatus (*global_mean)(void *host, uint32_t key, double *out);
  // Writes the last values, at most `capacity`, to `out`, oldest first, and their number to `count`. [train-thread]
  HrStatus (*recent)(void *host, uint32_t key, struct HrScalarPoint *out, size_t capacity, size_t *count);
  // Enters a scope, nested in those already entered. It prefixes the names that this instance interns from now on:
  // in `head`, `loss` is `train/head/loss` and `@norm` is `hook/<instance>/head/norm`. A name with '/' is not
  // changed. [train-thread] [borrowed until return]
  HrStatus (*enter_scope)(void *host, struct HrStr name);
  // Leaves the innermost scope; HR_ABSENT if there is none. [train-thread]
  HrStatus (*leave_scope)(void *host);
} HistoryTable;

// Outputs of the model's layers by name: the part of its parameters' names before `.weight`.
typedef struct LayerTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Keeps the outputs of all layers whose names match `pattern`, from the next forward pass on. Their indices are
  // written to `indices`, at most `capacity`, and their number to `count`. It is an error if none matches, and for a model
  // that does not give any: TorchScript, graph mode. [train-thread] [borrowed until return]
  HrStatus (*watch)(void *host, struct HrStr pattern, size_t *indices, size_t capacity, size_t *count);
  // The name of the layer at `index`; HR_ABSENT past the last. [train-thread] [borrowed for the run]
  HrStatus (*name)(void *host, size_t index, struct HrStr *out);
  // The output of the layer at `index` in the last forward pass of this iteration; HR_ABSENT if there was none. It is
  // read-only: operators that write to it are refused. [train-thread] [owned by the caller]
  HrStatus (*output)(void *host, size_t index, HrTensor *out);
} LayerTable;

// The weight of the loss.
typedef struct LossTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The denominator of the mean loss: the number of labels that are not ignored, or their total class weight;
  // otherwise the number of rows. 0 if all labels are ignored; the loss is then NaN. Waits for the device if the
  // labels are not on the CPU. [train-thread]
  HrStatus (*weight)(void *host, double *out);
} LossTable;

// The learning rate schedule.
typedef struct LrTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Makes the schedule step by epoch (`by_epoch` 1) or by iteration (0), overriding the config; the role
  // `on_lr_adjust` is called accordingly. Call it at `before_run`: it is an error to change this once the schedule
  // has started. [train-thread]
  HrStatus (*count_by_epoch)(void *host, uint32_t by_epoch);
} LrTable;

// Images, histograms and texts. Names are prefixed as those of scalars.
typedef struct MediaTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Whether a writer shows images and histograms: 0 or 1. Otherwise they are discarded. [train-thread]
  uint32_t (*is_wanted)(void *host);
  // Logs an image of shape [height, width] or [channels, height, width] with 1, 3 or 4 channels, as bytes or as floats
  // from 0 to 1. Copies it. [train-thread] [borrowed until return]
  HrStatus (*put_image)(void *host, struct HrStr name, HrTensor image);
  // Logs a histogram of a tensor's values with `bins` bins of equal width; values that are not finite are ignored.
  // [train-thread] [borrowed until return]
  HrStatus (*put_histogram)(void *host, struct HrStr name, HrTensor values, size_t bins);
  // Logs a text, which TensorBoard shows as Markdown. [train-thread] [borrowed until return]
  HrStatus (*put_text)(void *host, struct HrStr name, struct HrStr text);
  // Opens a writer of a kind, such as `tensorboard`, in `folder` of the run directory (empty for the kind's
  // default). Does nothing if it is already open. Call it before training starts. [train-thread]
  // [borrowed until return]
  HrStatus (*open_writer)(void *host, struct HrStr kind, struct HrStr folder);
} MediaTable;

// A metric of the run in one phase, with or without a value.
typedef struct HrMetricInfo {
  // Its instance name. [borrowed until the point returns]
  struct HrStr name;
  // Its `type` in configs. [borrowed until the point returns]
  struct HrStr type_name;
  // The unit of its value; empty for a plain number. [borrowed until the point returns]
  struct HrStr unit;
  // The phase it is computed in.
  uint32_t phase;
  // 1 if higher is better, -1 if lower is, 0 if neither.
  int32_t better;
} HrMetricInfo;

// The metrics of the run.
typedef struct MetricTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // The metric at an index: in the order of the config, once per phase. HR_ABSENT past the last. [train-thread]
  HrStatus (*at)(void *host, size_t index, struct HrMetricInfo *out);
  // Computes the values of the metric at an index for a `HR_METRIC_*` scope, and passes them to `sink`. Changes nothing.
  // An error while that metric itself is being called; HR_ABSENT past the last. [train-thread] [borrowed until return]
  HrStatus (*compute)(void *host, size_t index, uint32_t scope, const struct HrScalarSink *sink);
} MetricTable;

// Models that are not trained, such as a teacher.
typedef struct ModelTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Builds a model for the run's data from a table like `[model]`, with its `type`. The key `weights` is a path as in
  // `NamedTensorTable`, which must have all of the model's tensors. Does not change the run's random state.
  // [train-thread] [borrowed until return; the model stays until the run ends]
  HrStatus (*build)(void *host, const struct HrValue *settings, uint64_t *model);
  // Runs such a model on an input in evaluation mode, without recording gradients. [train-thread] [owned by the
  // caller: the output]
  HrStatus (*forward)(void *host, uint64_t model, HrTensor input, HrTensor *output);
} ModelTable;

// Tensors by name.
typedef struct NamedTensorTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Reads the tensors of a safetensors file, of an index of such files, or of the model in a checkpoint or run
  // directory, and writes their number to `count`. A relative path is relative to the working directory.
  // [train-thread] [borrowed until return]
  HrStatus (*load)(void *host, struct HrStr path, size_t *count);
  // Takes the tensor at `index` of those that the last `load` read; HR_ABSENT past the last, and if it was already
  // taken. [train-thread] [the name is borrowed until the next `load`; the tensor is owned by the caller]
  HrStatus (*take)(void *host, size_t index, struct HrStr *name, HrTensor *tensor);
  // Shares a tensor with other hooks under a name, replacing a previous one. It stays until it is removed or the run
  // ends. [train-thread] [borrowed until return]
  HrStatus (*put)(void *host, struct HrStr key, HrTensor tensor);
  // A tensor shared by a hook; HR_ABSENT if there is none. [train-thread] [owned by the caller]
  HrStatus (*tensor)(void *host, struct HrStr key, HrTensor *out);
  // Removes a shared tensor; HR_ABSENT if there is none. [train-thread]
  HrStatus (*remove)(void *host, struct HrStr key);
} NamedTensorTable;

// Trainable parameters, and the groups of the optimizer.
typedef struct ParamTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Whether the parameter at `index` of HR_LIST_PARAMS is trained: 0 or 1. [train-thread]
  HrStatus (*trainable)(void *host, size_t index, uint32_t *out);
  // Unfreezes (1) or freezes (0) every parameter whose name matches `pattern`, and returns their number. `*` matches
  // any characters. It is an error if none matches, or if no trainable parameter would be left. Parameters that the
  // config froze get new optimizer state. [train-thread] [borrowed until return]
  HrStatus (*set_trainable)(void *host, struct HrStr pattern, uint32_t trainable, size_t *out);
  // The group of the parameter at `index` of HR_LIST_PARAMS. [train-thread]
  HrStatus (*group_of)(void *host, size_t index, size_t *out);
  // A group's name. [train-thread] [borrowed for the run]
  HrStatus (*group_name)(void *host, size_t group, struct HrStr *out);
  // A group's learning rate before any schedule. [train-thread]
  HrStatus (*base_lr)(void *host, size_t group, double *out);
  // Sets it; the schedule starts from it in its next step. [train-thread]
  HrStatus (*set_base_lr)(void *host, size_t group, double value);
  // A group's momentum, or the first beta of an Adam variant; HR_ABSENT if the optimizer has neither. [train-thread]
  HrStatus (*momentum)(void *host, size_t group, double *out);
  // Sets it; an error if the optimizer has none. [train-thread]
  HrStatus (*set_momentum)(void *host, size_t group, double value);
  // A group's weight decay. [train-thread]
  HrStatus (*weight_decay)(void *host, size_t group, double *out);
  // Sets it. [train-thread]
  HrStatus (*set_weight_decay)(void *host, size_t group, double value);
} ParamTable;

// A pass of hooks over data, independent of the run's own. One at a time.
typedef struct PassTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Starts at the first batch of a phase's data and returns the number of batches; HR_ABSENT if the phase has no data.
  // [train-thread]
  HrStatus (*begin)(void *host, uint32_t phase, uint64_t *batches);
  // The next batch; HR_ABSENT after the last. [train-thread] [owned by the caller: both handles]
  HrStatus (*next)(void *host, HrTensor *input, HrTensor *label);
  // Runs the model on an input without recording gradients, in training mode (1), which updates running statistics, or
  // in evaluation mode (0), regardless of the phase. [train-thread] [owned by the caller: the output]
  HrStatus (*forward)(void *host, HrTensor input, uint32_t training, HrTensor *output);
} PassTable;

// The arithmetic of forward and backward passes.
typedef struct PrecisionTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Sets the precision, one of `HR_PRECISION_*`, overriding the config. Call it at `before_run`: the loss scaling of a
  // checkpoint is restored after that point. [train-thread]
  HrStatus (*set_precision)(void *host, uint32_t precision);
  // Sets the loss scaling: initial scale, growth and backoff factor, and growth interval. An error unless the
  // precision is HR_PRECISION_FP16. [train-thread]
  HrStatus (*set_loss_scaling)(void *host, double scale, double growth, double backoff, uint64_t interval);
} PrecisionTable;

// The cost of one operator in a profile.
typedef struct HrOpCost {
  // Its name, such as `aten::addmm`. [borrowed until the next profile ends]
  struct HrStr name;
  // The number of calls.
  uint64_t calls;
  // Self time in nanoseconds: without the operators that it called.
  uint64_t self_ns;
  // Total time in nanoseconds: including the operators that it called.
  uint64_t total_ns;
  // Floating point operations, if they were estimated; 0 if they are unknown.
  uint64_t flops;
} HrOpCost;

// Profiles of libtorch and of hooks. One at a time in a process.
typedef struct ProfilerTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Initializes the profiler with `HR_PROFILE_*` flags, so that the first recorded iteration is not slower than the
  // others. [train-thread]
  HrStatus (*prepare)(void *host, uint32_t flags);
  // Starts recording operators, points and hook calls. [train-thread]
  HrStatus (*start)(void *host, uint32_t flags);
  // Stops recording and writes the trace to `file` (relative to the run directory, ending in `.json`); an empty name
  // writes none. [train-thread] [borrowed until return]
  HrStatus (*stop)(void *host, struct HrStr file);
  // The operator at `index` of the last profile, the most expensive first; HR_ABSENT past the last. [train-thread]
  HrStatus (*op_at)(void *host, size_t index, struct HrOpCost *out);
} ProfilerTable;

// Collectives. Every rank must make the same calls in the same order, at the same points; if a rank fails, the call
// fails on all others. They are refused in a hook that runs on the main rank only, and in the iterations of an
// evaluation, because ranks may have different numbers of batches there. In a run of one process they return
// immediately.
typedef struct RankTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Replaces `count` numbers by their reduction over all ranks, `HR_REDUCE_SUM`, `HR_REDUCE_MAX` or `HR_REDUCE_MIN`.
  // [train-thread]
  HrStatus (*all_reduce_numbers)(void *host, double *numbers, size_t count, uint32_t reduction);
  // Replaces the contents of a tensor by their reduction over all ranks. It must have the same shape on all of them. One
  // that belongs to the run must be declared in `mutates`. [train-thread]
  HrStatus (*all_reduce)(void *host, HrTensor tensor, uint32_t reduction);
  // Replaces the contents of a tensor by those of rank `root`; `mutates` as for `all_reduce`. [train-thread]
  HrStatus (*broadcast)(void *host, HrTensor tensor, uint32_t root);
  // The tensors of all ranks, stacked in a new first dimension in the order of ranks. `out` is the caller's own, released like
  // any tensor that it made. [train-thread]
  HrStatus (*all_gather)(void *host, HrTensor tensor, HrTensor *out);
  // Waits until every rank has called it. [train-thread]
  HrStatus (*barrier)(void *host);
} RankTable;

// Recording every value of a scalar.
typedef struct RecordTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Adds the scalars of the current iteration to the files, but not to the console. They are written to disk when the
  // writers next write. [train-thread]
  HrStatus (*record)(void *host);
} RecordTable;

// The training forward role, and the configured loss of any tensors.
typedef struct RoleTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Runs the training forward pass on the current batch again, through the hook that has that role, with gradient
  // recording on, and sets HR_SLOT_OUTPUT and HR_SLOT_LOSS. Refused outside of training, and while that hook is being
  // called. [train-thread]
  HrStatus (*train_forward)(void *host);
  // The configured loss of an output and a label; the slots do not change. An error if the config has no loss.
  // [train-thread] [owned by the caller: the loss]
  HrStatus (*criterion_of)(void *host, HrTensor output, HrTensor label, HrTensor *loss);
} RoleTable;

// Settings of the training step.
typedef struct StepTable {
  // The header: magic, size and version of the side that made the table.
  struct HrHeader header;
  // Turns anomaly mode on (1) or off (0), for the process. While it is on, a backward pass that produces NaN fails
  // with the name of the function; training is about 150 times slower. [train-thread]
  HrStatus (*set_anomaly_mode)(void *host, uint32_t on);
  // Sets the number of micro-batches per batch, from the next iteration on. [train-thread]
  HrStatus (*set_accumulation)(void *host, uint64_t parts);
} StepTable;

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
      "on_attach",
      "before_run",
      "after_load_checkpoint",
      "before_train",
      "before_epoch",
      "before_train_epoch",
      "before_iter",
      "before_train_iter",
      "on_train_forward",
      "on_iter_forward",
      "after_forward",
      "before_backward",
      "on_iter_backward",
      "after_backward",
      "before_optimizer_step",
      "on_optimizer_step",
      "after_optimizer_step",
      "on_lr_adjust",
      "after_train_iter",
      "after_iter",
      "after_train_epoch",
      "after_epoch",
      "before_val",
      "before_test",
      "before_pred",
      "before_eval",
      "before_eval_epoch",
      "before_val_epoch",
      "before_test_epoch",
      "before_pred_epoch",
      "before_eval_iter",
      "before_val_iter",
      "before_test_iter",
      "before_pred_iter",
      "on_val_forward",
      "on_pred_forward",
      "after_val_iter",
      "after_test_iter",
      "after_pred_iter",
      "after_eval_iter",
      "after_val_epoch",
      "after_test_epoch",
      "after_pred_epoch",
      "after_eval_epoch",
      "after_eval",
      "after_val",
      "after_test",
      "after_pred",
      "after_cycle",
      "before_save_checkpoint",
      "after_save_checkpoint",
      "on_exception",
      "after_train",
      "after_run",
      "on_detach",
      "before_clip_grad",
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

// The layout of every struct, which never changes. A compiler that disagrees cannot build plugins.
#if defined(__LP64__)
#ifdef __cplusplus
#define HR_SAME(found, frozen) static_assert((found) == (frozen), #found)
#define HR_ALIGNOF(T) alignof(T)
#else
#define HR_SAME(found, frozen) _Static_assert((found) == (frozen), #found)
#define HR_ALIGNOF(T) _Alignof(T)
#endif
HR_SAME(sizeof(HrHeader), 24);
HR_SAME(HR_ALIGNOF(HrHeader), 8);
HR_SAME(offsetof(HrHeader, magic), 0);
HR_SAME(offsetof(HrHeader, struct_size), 8);
HR_SAME(offsetof(HrHeader, abi_major), 12);
HR_SAME(offsetof(HrHeader, abi_minor), 14);
HR_SAME(offsetof(HrHeader, flags), 16);
HR_SAME(sizeof(HrStr), 16);
HR_SAME(HR_ALIGNOF(HrStr), 8);
HR_SAME(offsetof(HrStr, ptr), 0);
HR_SAME(offsetof(HrStr, len), 8);
HR_SAME(sizeof(HrProgress), 128);
HR_SAME(HR_ALIGNOF(HrProgress), 8);
HR_SAME(offsetof(HrProgress, struct_size), 0);
HR_SAME(offsetof(HrProgress, phase), 4);
HR_SAME(offsetof(HrProgress, epoch), 8);
HR_SAME(offsetof(HrProgress, iter), 16);
HR_SAME(offsetof(HrProgress, inner_iter), 24);
HR_SAME(offsetof(HrProgress, inner_len), 32);
HR_SAME(offsetof(HrProgress, max_epochs), 40);
HR_SAME(offsetof(HrProgress, max_iters), 48);
HR_SAME(offsetof(HrProgress, micro), 56);
HR_SAME(offsetof(HrProgress, micros), 60);
HR_SAME(offsetof(HrProgress, samples), 64);
HR_SAME(offsetof(HrProgress, batch_size), 72);
HR_SAME(offsetof(HrProgress, rank), 80);
HR_SAME(offsetof(HrProgress, world), 84);
HR_SAME(offsetof(HrProgress, seed), 88);
HR_SAME(offsetof(HrProgress, lr), 96);
HR_SAME(offsetof(HrProgress, data_time), 104);
HR_SAME(offsetof(HrProgress, iter_time), 112);
HR_SAME(offsetof(HrProgress, outcome), 120);
HR_SAME(offsetof(HrProgress, failed_point), 124);
HR_SAME(sizeof(HrTensors), 16);
HR_SAME(HR_ALIGNOF(HrTensors), 8);
HR_SAME(offsetof(HrTensors, ptr), 0);
HR_SAME(offsetof(HrTensors, len), 8);
HR_SAME(sizeof(HrDevice), 8);
HR_SAME(HR_ALIGNOF(HrDevice), 4);
HR_SAME(offsetof(HrDevice, device_type), 0);
HR_SAME(offsetof(HrDevice, device_id), 4);
HR_SAME(sizeof(HrDataType), 4);
HR_SAME(HR_ALIGNOF(HrDataType), 2);
HR_SAME(offsetof(HrDataType, code), 0);
HR_SAME(offsetof(HrDataType, bits), 1);
HR_SAME(offsetof(HrDataType, lanes), 2);
HR_SAME(sizeof(HrDLTensor), 48);
HR_SAME(HR_ALIGNOF(HrDLTensor), 8);
HR_SAME(offsetof(HrDLTensor, data), 0);
HR_SAME(offsetof(HrDLTensor, device), 8);
HR_SAME(offsetof(HrDLTensor, ndim), 16);
HR_SAME(offsetof(HrDLTensor, dtype), 20);
HR_SAME(offsetof(HrDLTensor, shape), 24);
HR_SAME(offsetof(HrDLTensor, strides), 32);
HR_SAME(offsetof(HrDLTensor, byte_offset), 40);
HR_SAME(sizeof(HrArg), 40);
HR_SAME(HR_ALIGNOF(HrArg), 8);
HR_SAME(offsetof(HrArg, kind), 0);
HR_SAME(offsetof(HrArg, int_), 8);
HR_SAME(offsetof(HrArg, float_), 16);
HR_SAME(offsetof(HrArg, ptr), 24);
HR_SAME(offsetof(HrArg, len), 32);
HR_SAME(sizeof(TensorTable), 112);
HR_SAME(HR_ALIGNOF(TensorTable), 8);
HR_SAME(offsetof(TensorTable, header), 0);
HR_SAME(offsetof(TensorTable, slot), 24);
HR_SAME(offsetof(TensorTable, set_slot), 32);
HR_SAME(offsetof(TensorTable, list), 40);
HR_SAME(offsetof(TensorTable, name), 48);
HR_SAME(offsetof(TensorTable, keep), 56);
HR_SAME(offsetof(TensorTable, release), 64);
HR_SAME(offsetof(TensorTable, item), 72);
HR_SAME(offsetof(TensorTable, view), 80);
HR_SAME(offsetof(TensorTable, from_view), 88);
HR_SAME(offsetof(TensorTable, op_find), 96);
HR_SAME(offsetof(TensorTable, op_call), 104);
HR_SAME(sizeof(EngineTable), 96);
HR_SAME(HR_ALIGNOF(EngineTable), 8);
HR_SAME(offsetof(EngineTable, header), 0);
HR_SAME(offsetof(EngineTable, forward), 24);
HR_SAME(offsetof(EngineTable, model), 32);
HR_SAME(offsetof(EngineTable, criterion), 40);
HR_SAME(offsetof(EngineTable, backward), 48);
HR_SAME(offsetof(EngineTable, optimizer_step), 56);
HR_SAME(offsetof(EngineTable, lr_step), 64);
HR_SAME(offsetof(EngineTable, group_count), 72);
HR_SAME(offsetof(EngineTable, lr), 80);
HR_SAME(offsetof(EngineTable, set_lr), 88);
HR_SAME(sizeof(HrMetricReading), 40);
HR_SAME(HR_ALIGNOF(HrMetricReading), 8);
HR_SAME(offsetof(HrMetricReading, name), 0);
HR_SAME(offsetof(HrMetricReading, phase), 16);
HR_SAME(offsetof(HrMetricReading, better), 20);
HR_SAME(offsetof(HrMetricReading, step), 24);
HR_SAME(offsetof(HrMetricReading, epoch), 32);
HR_SAME(sizeof(HrScalarReading), 40);
HR_SAME(HR_ALIGNOF(HrScalarReading), 8);
HR_SAME(offsetof(HrScalarReading, name), 0);
HR_SAME(offsetof(HrScalarReading, key), 16);
HR_SAME(offsetof(HrScalarReading, smooth), 20);
HR_SAME(offsetof(HrScalarReading, iter), 24);
HR_SAME(offsetof(HrScalarReading, latest), 32);
HR_SAME(sizeof(EventTable), 88);
HR_SAME(HR_ALIGNOF(EventTable), 8);
HR_SAME(offsetof(EventTable, header), 0);
HR_SAME(offsetof(EventTable, key), 24);
HR_SAME(offsetof(EventTable, put), 32);
HR_SAME(offsetof(EventTable, latest), 40);
HR_SAME(offsetof(EventTable, median), 48);
HR_SAME(offsetof(EventTable, write), 56);
HR_SAME(offsetof(EventTable, metric), 64);
HR_SAME(offsetof(EventTable, metric_at), 72);
HR_SAME(offsetof(EventTable, scalar_at), 80);
HR_SAME(sizeof(HrValue), 72);
HR_SAME(HR_ALIGNOF(HrValue), 8);
HR_SAME(offsetof(HrValue, kind), 0);
HR_SAME(offsetof(HrValue, key), 8);
HR_SAME(offsetof(HrValue, int_), 24);
HR_SAME(offsetof(HrValue, float_), 32);
HR_SAME(offsetof(HrValue, text), 40);
HR_SAME(offsetof(HrValue, items), 56);
HR_SAME(offsetof(HrValue, len), 64);
HR_SAME(sizeof(StateTable), 48);
HR_SAME(HR_ALIGNOF(StateTable), 8);
HR_SAME(offsetof(StateTable, header), 0);
HR_SAME(offsetof(StateTable, put), 24);
HR_SAME(offsetof(StateTable, value), 32);
HR_SAME(offsetof(StateTable, remove), 40);
HR_SAME(sizeof(TrainerHandle), 144);
HR_SAME(HR_ALIGNOF(TrainerHandle), 8);
HR_SAME(offsetof(TrainerHandle, header), 0);
HR_SAME(offsetof(TrainerHandle, host), 24);
HR_SAME(offsetof(TrainerHandle, progress), 32);
HR_SAME(offsetof(TrainerHandle, instance), 40);
HR_SAME(offsetof(TrainerHandle, log_level), 56);
HR_SAME(offsetof(TrainerHandle, tensors), 64);
HR_SAME(offsetof(TrainerHandle, engine), 72);
HR_SAME(offsetof(TrainerHandle, events), 80);
HR_SAME(offsetof(TrainerHandle, states), 88);
HR_SAME(offsetof(TrainerHandle, extension), 96);
HR_SAME(offsetof(TrainerHandle, log), 104);
HR_SAME(offsetof(TrainerHandle, set_error), 112);
HR_SAME(offsetof(TrainerHandle, last_error), 120);
HR_SAME(offsetof(TrainerHandle, request), 128);
HR_SAME(offsetof(TrainerHandle, failure), 136);
HR_SAME(sizeof(HrStateWriter), 48);
HR_SAME(HR_ALIGNOF(HrStateWriter), 8);
HR_SAME(offsetof(HrStateWriter, header), 0);
HR_SAME(offsetof(HrStateWriter, sink), 24);
HR_SAME(offsetof(HrStateWriter, put_value), 32);
HR_SAME(offsetof(HrStateWriter, put_tensor), 40);
HR_SAME(sizeof(HrStateReader), 48);
HR_SAME(HR_ALIGNOF(HrStateReader), 8);
HR_SAME(offsetof(HrStateReader, header), 0);
HR_SAME(offsetof(HrStateReader, source), 24);
HR_SAME(offsetof(HrStateReader, value), 32);
HR_SAME(offsetof(HrStateReader, tensor), 40);
HR_SAME(sizeof(HookBase), 88);
HR_SAME(HR_ALIGNOF(HookBase), 8);
HR_SAME(offsetof(HookBase, header), 0);
HR_SAME(offsetof(HookBase, name), 24);
HR_SAME(offsetof(HookBase, manifest), 40);
HR_SAME(offsetof(HookBase, create), 48);
HR_SAME(offsetof(HookBase, destroy), 56);
HR_SAME(offsetof(HookBase, on_point), 64);
HR_SAME(offsetof(HookBase, save_state), 72);
HR_SAME(offsetof(HookBase, load_state), 80);
HR_SAME(sizeof(HrScalarSink), 40);
HR_SAME(HR_ALIGNOF(HrScalarSink), 8);
HR_SAME(offsetof(HrScalarSink, header), 0);
HR_SAME(offsetof(HrScalarSink, sink), 24);
HR_SAME(offsetof(HrScalarSink, put), 32);
HR_SAME(sizeof(MetricBase), 112);
HR_SAME(HR_ALIGNOF(MetricBase), 8);
HR_SAME(offsetof(MetricBase, header), 0);
HR_SAME(offsetof(MetricBase, name), 24);
HR_SAME(offsetof(MetricBase, manifest), 40);
HR_SAME(offsetof(MetricBase, create), 48);
HR_SAME(offsetof(MetricBase, destroy), 56);
HR_SAME(offsetof(MetricBase, update), 64);
HR_SAME(offsetof(MetricBase, compute), 72);
HR_SAME(offsetof(MetricBase, reset), 80);
HR_SAME(offsetof(MetricBase, save_state), 88);
HR_SAME(offsetof(MetricBase, load_state), 96);
HR_SAME(offsetof(MetricBase, merge), 104);
HR_SAME(sizeof(HrPlugin), 104);
HR_SAME(HR_ALIGNOF(HrPlugin), 8);
HR_SAME(offsetof(HrPlugin, header), 0);
HR_SAME(offsetof(HrPlugin, name), 24);
HR_SAME(offsetof(HrPlugin, version), 40);
HR_SAME(offsetof(HrPlugin, built_with), 56);
HR_SAME(offsetof(HrPlugin, hooks), 72);
HR_SAME(offsetof(HrPlugin, hook_count), 80);
HR_SAME(offsetof(HrPlugin, metrics), 88);
HR_SAME(offsetof(HrPlugin, metric_count), 96);
HR_SAME(sizeof(ArtifactTable), 40);
HR_SAME(HR_ALIGNOF(ArtifactTable), 8);
HR_SAME(offsetof(ArtifactTable, header), 0);
HR_SAME(offsetof(ArtifactTable, run_dir), 24);
HR_SAME(offsetof(ArtifactTable, save_tensors), 32);
HR_SAME(sizeof(AutogradTable), 32);
HR_SAME(HR_ALIGNOF(AutogradTable), 8);
HR_SAME(offsetof(AutogradTable, header), 0);
HR_SAME(offsetof(AutogradTable, set_recording), 24);
HR_SAME(sizeof(CheckpointNameTable), 40);
HR_SAME(HR_ALIGNOF(CheckpointNameTable), 8);
HR_SAME(offsetof(CheckpointNameTable, header), 0);
HR_SAME(offsetof(CheckpointNameTable, give), 24);
HR_SAME(offsetof(CheckpointNameTable, load), 32);
HR_SAME(sizeof(CheckpointTable), 40);
HR_SAME(HR_ALIGNOF(CheckpointTable), 8);
HR_SAME(offsetof(CheckpointTable, header), 0);
HR_SAME(offsetof(CheckpointTable, keep), 24);
HR_SAME(offsetof(CheckpointTable, load), 32);
HR_SAME(sizeof(ConsoleTable), 40);
HR_SAME(HR_ALIGNOF(ConsoleTable), 8);
HR_SAME(offsetof(ConsoleTable, header), 0);
HR_SAME(offsetof(ConsoleTable, show), 24);
HR_SAME(offsetof(ConsoleTable, redraw), 32);
HR_SAME(sizeof(FileTable), 32);
HR_SAME(HR_ALIGNOF(FileTable), 8);
HR_SAME(offsetof(FileTable, header), 0);
HR_SAME(offsetof(FileTable, write), 24);
HR_SAME(sizeof(GradientTable), 32);
HR_SAME(HR_ALIGNOF(GradientTable), 8);
HR_SAME(offsetof(GradientTable, header), 0);
HR_SAME(offsetof(GradientTable, compute), 24);
HR_SAME(sizeof(HrScalarPoint), 24);
HR_SAME(HR_ALIGNOF(HrScalarPoint), 8);
HR_SAME(offsetof(HrScalarPoint, iter), 0);
HR_SAME(offsetof(HrScalarPoint, samples), 8);
HR_SAME(offsetof(HrScalarPoint, value), 16);
HR_SAME(sizeof(HistoryTable), 64);
HR_SAME(HR_ALIGNOF(HistoryTable), 8);
HR_SAME(offsetof(HistoryTable, header), 0);
HR_SAME(offsetof(HistoryTable, mean), 24);
HR_SAME(offsetof(HistoryTable, global_mean), 32);
HR_SAME(offsetof(HistoryTable, recent), 40);
HR_SAME(offsetof(HistoryTable, enter_scope), 48);
HR_SAME(offsetof(HistoryTable, leave_scope), 56);
HR_SAME(sizeof(LayerTable), 48);
HR_SAME(HR_ALIGNOF(LayerTable), 8);
HR_SAME(offsetof(LayerTable, header), 0);
HR_SAME(offsetof(LayerTable, watch), 24);
HR_SAME(offsetof(LayerTable, name), 32);
HR_SAME(offsetof(LayerTable, output), 40);
HR_SAME(sizeof(LossTable), 32);
HR_SAME(HR_ALIGNOF(LossTable), 8);
HR_SAME(offsetof(LossTable, header), 0);
HR_SAME(offsetof(LossTable, weight), 24);
HR_SAME(sizeof(LrTable), 32);
HR_SAME(HR_ALIGNOF(LrTable), 8);
HR_SAME(offsetof(LrTable, header), 0);
HR_SAME(offsetof(LrTable, count_by_epoch), 24);
HR_SAME(sizeof(MediaTable), 64);
HR_SAME(HR_ALIGNOF(MediaTable), 8);
HR_SAME(offsetof(MediaTable, header), 0);
HR_SAME(offsetof(MediaTable, is_wanted), 24);
HR_SAME(offsetof(MediaTable, put_image), 32);
HR_SAME(offsetof(MediaTable, put_histogram), 40);
HR_SAME(offsetof(MediaTable, put_text), 48);
HR_SAME(offsetof(MediaTable, open_writer), 56);
HR_SAME(sizeof(HrMetricInfo), 56);
HR_SAME(HR_ALIGNOF(HrMetricInfo), 8);
HR_SAME(offsetof(HrMetricInfo, name), 0);
HR_SAME(offsetof(HrMetricInfo, type_name), 16);
HR_SAME(offsetof(HrMetricInfo, unit), 32);
HR_SAME(offsetof(HrMetricInfo, phase), 48);
HR_SAME(offsetof(HrMetricInfo, better), 52);
HR_SAME(sizeof(MetricTable), 40);
HR_SAME(HR_ALIGNOF(MetricTable), 8);
HR_SAME(offsetof(MetricTable, header), 0);
HR_SAME(offsetof(MetricTable, at), 24);
HR_SAME(offsetof(MetricTable, compute), 32);
HR_SAME(sizeof(ModelTable), 40);
HR_SAME(HR_ALIGNOF(ModelTable), 8);
HR_SAME(offsetof(ModelTable, header), 0);
HR_SAME(offsetof(ModelTable, build), 24);
HR_SAME(offsetof(ModelTable, forward), 32);
HR_SAME(sizeof(NamedTensorTable), 64);
HR_SAME(HR_ALIGNOF(NamedTensorTable), 8);
HR_SAME(offsetof(NamedTensorTable, header), 0);
HR_SAME(offsetof(NamedTensorTable, load), 24);
HR_SAME(offsetof(NamedTensorTable, take), 32);
HR_SAME(offsetof(NamedTensorTable, put), 40);
HR_SAME(offsetof(NamedTensorTable, tensor), 48);
HR_SAME(offsetof(NamedTensorTable, remove), 56);
HR_SAME(sizeof(ParamTable), 104);
HR_SAME(HR_ALIGNOF(ParamTable), 8);
HR_SAME(offsetof(ParamTable, header), 0);
HR_SAME(offsetof(ParamTable, trainable), 24);
HR_SAME(offsetof(ParamTable, set_trainable), 32);
HR_SAME(offsetof(ParamTable, group_of), 40);
HR_SAME(offsetof(ParamTable, group_name), 48);
HR_SAME(offsetof(ParamTable, base_lr), 56);
HR_SAME(offsetof(ParamTable, set_base_lr), 64);
HR_SAME(offsetof(ParamTable, momentum), 72);
HR_SAME(offsetof(ParamTable, set_momentum), 80);
HR_SAME(offsetof(ParamTable, weight_decay), 88);
HR_SAME(offsetof(ParamTable, set_weight_decay), 96);
HR_SAME(sizeof(PassTable), 48);
HR_SAME(HR_ALIGNOF(PassTable), 8);
HR_SAME(offsetof(PassTable, header), 0);
HR_SAME(offsetof(PassTable, begin), 24);
HR_SAME(offsetof(PassTable, next), 32);
HR_SAME(offsetof(PassTable, forward), 40);
HR_SAME(sizeof(PrecisionTable), 40);
HR_SAME(HR_ALIGNOF(PrecisionTable), 8);
HR_SAME(offsetof(PrecisionTable, header), 0);
HR_SAME(offsetof(PrecisionTable, set_precision), 24);
HR_SAME(offsetof(PrecisionTable, set_loss_scaling), 32);
HR_SAME(sizeof(HrOpCost), 48);
HR_SAME(HR_ALIGNOF(HrOpCost), 8);
HR_SAME(offsetof(HrOpCost, name), 0);
HR_SAME(offsetof(HrOpCost, calls), 16);
HR_SAME(offsetof(HrOpCost, self_ns), 24);
HR_SAME(offsetof(HrOpCost, total_ns), 32);
HR_SAME(offsetof(HrOpCost, flops), 40);
HR_SAME(sizeof(ProfilerTable), 56);
HR_SAME(HR_ALIGNOF(ProfilerTable), 8);
HR_SAME(offsetof(ProfilerTable, header), 0);
HR_SAME(offsetof(ProfilerTable, prepare), 24);
HR_SAME(offsetof(ProfilerTable, start), 32);
HR_SAME(offsetof(ProfilerTable, stop), 40);
HR_SAME(offsetof(ProfilerTable, op_at), 48);
HR_SAME(sizeof(RankTable), 64);
HR_SAME(HR_ALIGNOF(RankTable), 8);
HR_SAME(offsetof(RankTable, header), 0);
HR_SAME(offsetof(RankTable, all_reduce_numbers), 24);
HR_SAME(offsetof(RankTable, all_reduce), 32);
HR_SAME(offsetof(RankTable, broadcast), 40);
HR_SAME(offsetof(RankTable, all_gather), 48);
HR_SAME(offsetof(RankTable, barrier), 56);
HR_SAME(sizeof(RecordTable), 32);
HR_SAME(HR_ALIGNOF(RecordTable), 8);
HR_SAME(offsetof(RecordTable, header), 0);
HR_SAME(offsetof(RecordTable, record), 24);
HR_SAME(sizeof(RoleTable), 40);
HR_SAME(HR_ALIGNOF(RoleTable), 8);
HR_SAME(offsetof(RoleTable, header), 0);
HR_SAME(offsetof(RoleTable, train_forward), 24);
HR_SAME(offsetof(RoleTable, criterion_of), 32);
HR_SAME(sizeof(StepTable), 40);
HR_SAME(HR_ALIGNOF(StepTable), 8);
HR_SAME(offsetof(StepTable, header), 0);
HR_SAME(offsetof(StepTable, set_anomaly_mode), 24);
HR_SAME(offsetof(StepTable, set_accumulation), 32);
#undef HR_SAME
#undef HR_ALIGNOF
#endif

#endif // HOOKRACK_H
