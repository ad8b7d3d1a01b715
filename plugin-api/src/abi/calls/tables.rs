//! The calls that need no more than a row: a table of the host, its functions, what they take and return.

use super::Host;
use super::wire::{call, calls};
use crate::abi::{
    AutogradTable, CheckpointNameTable, ConsoleTable, DLTensor, EngineTable, EventTable,
    HistoryTable, HrMetricReading, HrOp, HrOpCost, HrScalarReading, HrTensor, HrTensors,
    LayerTable, LrTable, MediaTable, ModelTable, NamedTensorTable, ParamTable, PassTable,
    PrecisionTable, ProfilerTable, RankTable, RecordTable, RoleTable, StateTable, StepTable,
    TensorTable,
};
use crate::error::Result;

calls! {
    TensorTable {
        /// The tensor of a slot.
        find slot(slot: u32) -> HrTensor;
        /// Replaces the tensor of a slot.
        call set_slot(slot: u32, tensor: HrTensor);
        /// The handles of a list, lent until the engine changes something.
        find handles: list(list: u32) -> HrTensors;
        /// The name of a tensor in a list.
        read name(list: u32, index: usize) -> String;
        /// A second, owned handle.
        read keep(tensor: HrTensor) -> HrTensor;
        /// The value of a tensor with one element.
        read item(tensor: HrTensor) -> f64;
        /// A view of a tensor's memory.
        read view(tensor: HrTensor, flags: u32) -> DLTensor;
        /// A new tensor with a copy of the viewed memory.
        read from_view(view: &DLTensor) -> HrTensor;
        /// Finds an operator.
        read op_find(name: &str) -> HrOp;
    }
    EngineTable {
        /// Runs the model on the current input.
        call forward();
        /// Runs the model on a tensor.
        read model(input: HrTensor) -> HrTensor;
        /// Computes the configured loss.
        call criterion();
        /// Runs the backward pass of the loss.
        call backward();
        /// Updates the parameters.
        call optimizer_step();
        /// Advances the schedule and sets the learning rate.
        call lr_step();
        /// A group's learning rate.
        read lr(group: usize) -> f64;
        /// Sets a group's learning rate.
        call set_lr(group: usize, lr: f64);
    }
    EventTable {
        /// Interns a scalar's name.
        read scalar_key: key(name: &str, smooth: bool) -> u32;
        /// Logs a scalar.
        call put_scalar: put(key: u32, value: f64);
        /// The last value of a scalar.
        find latest(key: u32) -> f64;
        /// The median of the last values of a scalar.
        find median(key: u32, window: usize) -> f64;
        /// Makes the writers write.
        call write_events: write();
        /// A metric's value.
        find metric(phase: u32, name: &str, which: u32) -> f64;
        /// The metric at `index`, with its name; `None` past the last.
        find metric_at(index: usize) -> (HrMetricReading, String);
        /// The scalar at `index`, with its name; `None` past the last.
        find scalar_at(index: usize) -> (HrScalarReading, String);
    }
    StateTable {
        /// Removes a shared value; false if there was none.
        remove remove_state: remove(key: &str);
    }
    AutogradTable {
        /// Turns gradient recording on or off, and returns the previous mode.
        read set_recording(on: bool) -> bool;
    }
    CheckpointNameTable {
        /// Gives the checkpoints that this hook requests a second name.
        call name_checkpoints: give(pattern: &str);
    }
    ConsoleTable {
        /// Redraws the progress line.
        call redraw_progress: redraw();
    }
    HistoryTable {
        /// The mean of the last values of a scalar.
        find mean(key: u32, window: usize) -> f64;
        /// The mean of all values of a scalar.
        find global_mean(key: u32) -> f64;
        /// Enters a scope of names.
        call enter_scope(name: &str);
        /// Leaves the scope that was entered last.
        call leave_scope();
    }
    LayerTable {
        /// A layer's name.
        read layer_name: name(index: usize) -> String;
        /// A layer's output.
        find layer_output: output(index: usize) -> HrTensor;
    }
    LrTable {
        /// Sets whether the learning rate schedule counts epochs or iterations.
        call count_lr_by_epoch: count_by_epoch(by_epoch: bool);
    }
    MediaTable {
        /// Logs an image.
        call put_image(name: &str, image: HrTensor);
        /// Logs a histogram.
        call put_histogram(name: &str, values: HrTensor, bins: usize);
        /// Logs a text.
        call put_text(name: &str, text: &str);
        /// Opens a writer.
        call open_writer(kind: &str, folder: &str);
    }
    ModelTable {
        /// Runs an additional model.
        read run_model: forward(model: u64, input: HrTensor) -> HrTensor;
    }
    NamedTensorTable {
        /// Shares a tensor.
        call put_state_tensor: put(key: &str, tensor: HrTensor);
        /// A shared tensor.
        find state_tensor: tensor(key: &str) -> HrTensor;
        /// Removes a shared tensor; false if there was none.
        remove remove_state_tensor: remove(key: &str);
    }
    ParamTable {
        /// Whether a parameter is trained.
        read trainable(index: usize) -> bool;
        /// Freezes or unfreezes parameters; returns their number.
        read set_trainable(pattern: &str, trainable: bool) -> usize;
        /// The group of a parameter.
        read group_of(index: usize) -> usize;
        /// A group's name.
        read group_name(group: usize) -> String;
        /// A group's learning rate before any schedule.
        read base_lr(group: usize) -> f64;
        /// Sets a group's learning rate before any schedule.
        call set_base_lr(group: usize, value: f64);
        /// A group's momentum.
        find momentum(group: usize) -> f64;
        /// Sets a group's momentum.
        call set_momentum(group: usize, value: f64);
        /// A group's weight decay.
        read weight_decay(group: usize) -> f64;
        /// Sets a group's weight decay.
        call set_weight_decay(group: usize, value: f64);
    }
    PassTable {
        /// Starts a pass.
        find begin_pass: begin(phase: u32) -> u64;
        /// Runs the model without recording gradients.
        read forward_in: forward(input: HrTensor, training: bool) -> HrTensor;
    }
    PrecisionTable {
        /// Sets the precision.
        call set_precision(precision: u32);
        /// Restarts loss scaling with new settings.
        call set_loss_scaling(scale: f64, growth: f64, backoff: f64, interval: u64);
    }
    ProfilerTable {
        /// Initializes the profiler.
        call profiler_prepare: prepare(flags: u32);
        /// Starts recording.
        call profiler_start: start(flags: u32);
        /// Stops recording.
        call profiler_stop: stop(file: &str);
        /// An operator of the last profile, with its name.
        find profiler_op: op_at(index: usize) -> (HrOpCost, String);
    }
    RankTable {
        /// The tensors of all ranks.
        read all_gather(tensor: HrTensor) -> HrTensor;
    }
    RecordTable {
        /// Writes the scalars of the current iteration to the files.
        call record_events: record();
    }
    RoleTable {
        /// Runs the training forward role.
        call train_forward();
        /// The configured loss of two tensors.
        read criterion_of(output: HrTensor, label: HrTensor) -> HrTensor;
    }
    StepTable {
        /// Turns anomaly mode on or off.
        call set_anomaly_mode(on: bool);
        /// Sets the number of micro-batches per batch.
        call set_accumulation(parts: u64);
    }
}
