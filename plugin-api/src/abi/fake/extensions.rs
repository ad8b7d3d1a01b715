//! The extensions of the fake host.

use super::{Caller, end, functions, gradients, layers, lent, named, noted, params, table, texts};
use crate::abi::{Extension, HrMetricInfo, HrScalarPoint, HrScalarSink, HrStatus, HrStr, HrTensor};
use std::ffi::c_void;

fn offer<T: Extension>(table: &'static T) -> (&'static str, u16, *const c_void) {
    (T::ID, T::SINCE, std::ptr::from_ref(table).cast())
}

/// The table of an extension, if the fake host's version has it.
pub(super) unsafe extern "C" fn extension(host: *mut c_void, id: HrStr) -> *const c_void {
    // SAFETY: a hook calls with the pointer of its handle; it lends the id until this returns.
    let (caller, id) = unsafe { (Caller::of(host), id.to_lossy()) };
    let mut offers = [
        offer(&artifacts::TABLE),
        offer(&files::TABLE),
        offer(&autograd::TABLE),
        offer(&noted::checkpoint_names::TABLE),
        offer(&noted::checkpoints::TABLE),
        offer(&noted::console::TABLE),
        offer(&gradients::TABLE),
        offer(&history::TABLE),
        offer(&layers::TABLE),
        offer(&loss::TABLE),
        offer(&noted::lr::TABLE),
        offer(&noted::media::TABLE),
        offer(&metrics::TABLE),
        offer(&named::models::TABLE),
        offer(&named::named_tensors::TABLE),
        offer(&params::TABLE),
        offer(&pass::TABLE),
        offer(&noted::precision::TABLE),
        offer(&noted::profiler::TABLE),
        offer(&ranks::TABLE),
        offer(&noted::record::TABLE),
        offer(&roles::TABLE),
        offer(&noted::step::TABLE),
    ]
    .into_iter();
    let found = offers.find(|(own, since, _)| *own == id && *since <= caller.minor);
    found.map_or(std::ptr::null(), |(_, _, table)| table)
}

mod artifacts {
    use super::{Caller, HrStr, HrTensor, c_void, functions, lent, table, texts};
    table!(ArtifactTable { run_dir, save_tensors });

    unsafe extern "C" fn run_dir(host: *mut c_void) -> HrStr {
        // SAFETY: a hook calls with the pointer of its handle.
        let caller = unsafe { Caller::of(host) };
        // The path does not change, so it can be lent for the run.
        let path =
            caller.answer(|world, _| Ok(world.run_dir.as_deref().map_or(HrStr::EMPTY, HrStr::new)));
        path.unwrap_or(HrStr::EMPTY)
    }

    functions! {
        call save_tensors(world, _, file: String, names: *const HrStr, tensors: *const HrTensor, count: usize) {
            crate::ensure!(world.run_dir.is_some(), "this run has no directory");
            // SAFETY: a hook lends as many names and handles until this returns.
            let (names, tensors) = unsafe { (texts(names, count), lent(tensors, count)) };
            let copies = tensors.iter().map(|handle| Ok(world.tensor(*handle)?.copy()));
            let copies = copies.collect::<crate::Result<Vec<_>>>()?;
            world.files.insert(file, names.into_iter().zip(copies).collect());
            Ok(())
        }
    }
}

mod files {
    use super::{functions, lent, table};
    table!(FileTable { write });
    functions! {
        call write(world, _, file: String, bytes: *const u8, len: usize) {
            crate::ensure!(world.run_dir.is_some(), "this run has no directory");
            // SAFETY: a hook lends the bytes until this returns.
            world.written.insert(file, unsafe { lent(bytes, len) }.to_vec());
            Ok(())
        }
    }
}

mod autograd {
    use super::{functions, table};
    table!(AutogradTable { set_recording });
    functions! {
        read set_recording(world, _, on: u32) -> u32 {
            Ok(std::mem::replace(&mut world.recording, on != 0).into())
        }
    }
}

mod history {
    use super::{HrScalarPoint, functions, table};
    table!(HistoryTable { mean, global_mean, recent, enter_scope, leave_scope });

    /// The mean of the last values; NaN does not count.
    #[expect(clippy::cast_precision_loss, reason = "a test puts few values")]
    fn mean_of(values: &[(u64, u64, f64)], window: usize) -> Option<f64> {
        let last = values.iter().rev().take(window).map(|(_, _, value)| *value);
        let values: Vec<_> = last.filter(|value| !value.is_nan()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    functions! {
        find mean(world, _, key: u32, window: usize) -> f64 {
            Ok(mean_of(&world.scalar(key)?.values, window))
        }
        find global_mean(world, _, key: u32) -> f64 {
            Ok(mean_of(&world.scalar(key)?.values, usize::MAX))
        }
        call recent(world, _, key: u32, out: *mut HrScalarPoint, capacity: usize, count: *mut usize) {
            let values = &world.scalar(key)?.values;
            let newest = &values[values.len().saturating_sub(capacity)..];
            for (index, &(iter, samples, value)) in newest.iter().enumerate() {
                // SAFETY: a hook gives a row of `capacity` places, and there are no more values than that.
                unsafe { out.add(index).write(HrScalarPoint { iter, samples, value }) };
            }
            // SAFETY: a hook gives a place for one number.
            unsafe { count.write(newest.len()) };
            Ok(())
        }
        call enter_scope(_, caller, name: String) {
            crate::ensure!(
                !name.is_empty() && !name.contains(['/', '@']),
                "`{name}` is not a scope: give a word without / and @"
            );
            caller.scopes.borrow_mut().push(name);
            Ok(())
        }
        call leave_scope(_, caller) {
            crate::ensure!(caller.scopes.borrow_mut().pop().is_some(), "no scope was entered");
            Ok(())
        }
    }
}

mod loss {
    use super::{functions, table};
    table!(LossTable { weight });
    functions! {
        read weight(world, _) -> f64 {
            #[expect(clippy::cast_precision_loss, reason = "a test's batches are small")]
            let rows = world.progress.get().batch_size as f64;
            Ok(rows)
        }
    }
}

mod metrics {
    use super::{Caller, HrMetricInfo, HrScalarSink, HrStatus, HrStr, c_void, functions, table};
    table!(MetricTable { at, compute });
    functions! {
        find at(world, _, index: usize) -> HrMetricInfo {
            Ok(world.metrics.get(index).map(|it| HrMetricInfo {
                name: HrStr::new(&it.name),
                type_name: HrStr::new(&it.name),
                unit: HrStr::EMPTY,
                phase: it.phase.code(),
                better: it.better,
            }))
        }
    }

    unsafe extern "C" fn compute(
        host: *mut c_void,
        index: usize,
        _scope: u32,
        sink: *const HrScalarSink,
    ) -> HrStatus {
        // SAFETY: a hook calls with the pointer of its handle.
        let caller = unsafe { Caller::of(host) };
        match caller.answer(|world, _| Ok(world.metrics.get(index).map(|it| it.epoch))) {
            // SAFETY: a hook lends the sink until this returns.
            Ok(Some(value)) => unsafe { ((*sink).put)((*sink).sink, HrStr::EMPTY, value) },
            Ok(None) => HrStatus::ABSENT,
            Err(status) => status,
        }
    }
}

mod pass {
    use super::{HrTensor, functions, table};
    use crate::testing::tensor::FakeTensor;
    table!(PassTable { begin, next, forward });

    functions! {
        find begin(world, _, _phase: u32) -> u64 {
            world.pass_left = world.pass_len;
            Ok((world.pass_len > 0).then_some(world.pass_len))
        }
        has next(world, _, input: *mut HrTensor, label: *mut HrTensor) {
            if world.pass_left == 0 {
                return Ok(false);
            }
            world.pass_left -= 1;
            for (place, tensor) in [input, label].into_iter().zip(world.batch.clone()) {
                let handle = world.give(tensor.unwrap_or_else(|| FakeTensor::from(0.0)));
                // SAFETY: a hook gives a place for one handle each.
                unsafe { place.write(handle) };
            }
            Ok(true)
        }
        read forward(world, _, input: HrTensor, _training: u32) -> HrTensor {
            let input = world.tensor(input)?;
            let output = world.run_model(&input)?;
            Ok(world.give(output))
        }
    }
}

mod ranks {
    use super::{HrTensor, functions, table};
    use crate::testing::tensor::FakeTensor;
    table!(RankTable { all_reduce_numbers, all_reduce, broadcast, all_gather, barrier });
    functions! {
        // One process: nothing to do but to check.
        call all_reduce(world, caller, tensor: HrTensor, _reduction: u32) {
            let part = world.part_of(&world.tensor(tensor)?);
            caller.check_declared(part, || "all_reduce()".to_owned())
        }
        call broadcast(world, caller, tensor: HrTensor, _root: u32) {
            let part = world.part_of(&world.tensor(tensor)?);
            caller.check_declared(part, || "broadcast()".to_owned())
        }
        read all_gather(world, _, tensor: HrTensor) -> HrTensor {
            let only = world.tensor(tensor)?;
            let shape = [&[1], only.shape()].concat();
            let stacked = FakeTensor::of(only.dtype(), &only.values(), &shape)?;
            Ok(world.give(stacked))
        }
        call all_reduce_numbers(_, _, _numbers: *mut f64, _count: usize, _reduction: u32) { Ok(()) }
        call barrier(_, _) { Ok(()) }
    }
}

mod roles {
    use super::{Caller, HrStatus, HrTensor, c_void, end, functions, table};
    use crate::phase::Phase;
    table!(RoleTable { train_forward, criterion_of });

    functions! {
        read criterion_of(world, _, output: HrTensor, label: HrTensor) -> HrTensor {
            let (output, label) = (world.tensor(output)?, world.tensor(label)?);
            let loss = world.loss_of(&output, Some(&label))?;
            Ok(world.give(loss))
        }
    }

    unsafe extern "C" fn train_forward(host: *mut c_void) -> HrStatus {
        // SAFETY: a hook calls with the pointer of its handle.
        let caller = unsafe { Caller::of(host) };
        end::call(caller.answer_free(|| {
            let world = caller.world()?;
            let phase = world.borrow().phase();
            crate::ensure!(
                phase == Phase::Train,
                "train_forward() is only available in training; the phase is {}",
                phase.name()
            );
            // Nothing stays borrowed while another hook is called.
            let role = world.borrow().forward_role.clone();
            if let Some(role) = role {
                return role.run();
            }
            let mut world = world.borrow_mut();
            world.forward()?;
            world.compute_loss()
        }))
    }
}
