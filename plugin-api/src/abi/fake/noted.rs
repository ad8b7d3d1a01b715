//! Extensions without an effect in the fake host: calls are recorded, so that tests can assert on them.

use super::{functions, table, texts};
use crate::abi::{HrOpCost, HrStr, HrTensor};
use std::ffi::c_void;

/// Functions that only record the call.
macro_rules! noted {
    ($($function:ident($($arg:ident: $ty:ty),*) as $name:literal $(changes $parts:expr)?;)*) => {
        $crate::abi::fake::functions! {
            $(call $function(world, caller $(, $arg: $ty)*) {
                let changed: &[crate::testing::rules::Parts] = &[$($parts)?];
                for part in changed {
                    caller.check_engine($name, *part)?;
                }
                let args: Vec<String> = vec![$(format!("{}", $arg)),*];
                world.calls.push(format!("{}({})", $name, args.join(", ")));
                Ok(())
            })*
        }
    };
}

pub(super) mod checkpoints {
    use super::table;
    use crate::testing::rules::Parts;
    table!(CheckpointTable { keep, load });
    noted! {
        keep(last: i64, every_epochs: u64, every_iters: u64, metric: String, higher: u32, top: u64)
            as "keep_checkpoints";
        load(path: String, epoch: i64, weights: u32, strict: u32) as "load_checkpoint" changes Parts::PARAMS;
    }
}

pub(super) mod checkpoint_names {
    use super::table;
    use crate::testing::rules::Parts;
    table!(CheckpointNameTable { give, load });
    noted! {
        give(pattern: String) as "name_checkpoints";
        load(path: String, epoch: i64, suffix: String, weights: u32, strict: u32)
            as "load_checkpoint_named" changes Parts::PARAMS;
    }
}

pub(super) mod console {
    use super::{HrStr, functions, table, texts};
    table!(ConsoleTable { show, redraw });
    noted! { redraw() as "redraw_progress"; }

    functions! {
        call show(world, _, names: *const HrStr, count: usize) {
            // SAFETY: a hook lends the names until this returns.
            let names = unsafe { texts(names, count) };
            world.calls.push(format!("show_progress({})", names.join(", ")));
            Ok(())
        }
    }
}

pub(super) mod lr {
    use super::table;
    use crate::testing::rules::Parts;
    table!(LrTable { count_by_epoch });
    noted! { count_by_epoch(by_epoch: u32) as "count_lr_by_epoch" changes Parts::LR.and(Parts::PARAMS); }
}

pub(super) mod media {
    use super::{HrTensor, c_void, functions, table};
    table!(MediaTable { is_wanted, put_image, put_histogram, put_text, open_writer });

    unsafe extern "C" fn is_wanted(_host: *mut c_void) -> u32 {
        1
    }

    functions! {
        call put_image(world, caller, name: String, image: HrTensor) {
            let (name, shape) = (caller.full_name(world, &name), world.tensor(image)?.shape().to_vec());
            world.calls.push(format!("put_image({name}, {shape:?})"));
            Ok(())
        }
        call put_histogram(world, caller, name: String, values: HrTensor, bins: usize) {
            let (name, shape) = (caller.full_name(world, &name), world.tensor(values)?.shape().to_vec());
            world.calls.push(format!("put_histogram({name}, {shape:?}, {bins})"));
            Ok(())
        }
        call put_text(world, caller, name: String, text: String) {
            let name = caller.full_name(world, &name);
            world.calls.push(format!("put_text({name}, {text})"));
            Ok(())
        }
        call open_writer(world, _, kind: String, folder: String) {
            world.calls.push(format!("open_writer({kind}, {folder})"));
            Ok(())
        }
    }
}

pub(super) mod precision {
    use super::table;
    use crate::testing::rules::Parts;
    const CHANGED: Parts = Parts::PARAMS.and(Parts::GRADS);
    table!(PrecisionTable { set_precision, set_loss_scaling });
    noted! {
        set_precision(precision: u32) as "set_precision" changes CHANGED;
        set_loss_scaling(scale: f64, growth: f64, backoff: f64, interval: u64) as "set_loss_scaling" changes CHANGED;
    }
}

pub(super) mod profiler {
    use super::{HrOpCost, functions, table};
    table!(ProfilerTable { prepare, start, stop, op_at });
    noted! {
        prepare(flags: u32) as "profiler_prepare";
        start(flags: u32) as "profiler_start";
        stop(file: String) as "profiler_stop";
    }
    functions! {
        find op_at(_, _, _index: usize) -> HrOpCost { Ok(None) }
    }
}

pub(super) mod record {
    use super::table;
    table!(RecordTable { record });
    noted! { record() as "record_events"; }
}

pub(super) mod step {
    use super::table;
    use crate::testing::rules::Parts;
    table!(StepTable { set_anomaly_mode, set_accumulation });
    noted! {
        set_anomaly_mode(on: u32) as "set_anomaly_mode" changes Parts::GRADS.and(Parts::LOSS);
        set_accumulation(parts: u64) as "set_accumulation" changes Parts::GRADS;
    }
}
