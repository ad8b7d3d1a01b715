//! The tables of the handle.

use super::{Caller, functions, table};
use crate::abi::{
    HrMetricReading, HrScalarReading, HrStr, HrTensor, HrValue, METRIC_LATEST_STEP, WireTree,
};
use crate::phase::Phase;
use std::ffi::c_void;

pub(super) mod engine {
    use super::super::params::one;
    use super::{HrTensor, c_void, functions, table};
    use crate::testing::rules::Parts;

    table!(EngineTable {
        forward,
        model,
        criterion,
        backward,
        optimizer_step,
        lr_step,
        group_count,
        lr,
        set_lr
    });

    functions! {
        call forward(world, caller) {
            world.check_pass(&caller.name, "forward")?;
            caller.check_engine("forward", Parts::OUTPUT)?;
            world.forward()
        }
        read model(world, _, input: HrTensor) -> HrTensor {
            let input = world.tensor(input)?;
            let output = world.run_model(&input)?;
            Ok(world.give(output))
        }
        call criterion(world, caller) {
            world.check_pass(&caller.name, "criterion")?;
            caller.check_engine("criterion", Parts::LOSS)?;
            world.compute_loss()
        }
        call backward(world, caller) {
            caller.check_engine("backward", Parts::GRADS)?;
            world.backward()
        }
        call optimizer_step(world, caller) {
            caller.check_engine("optimizer_step", Parts::PARAMS)?;
            world.optimizer_step()
        }
        call lr_step(world, caller) {
            caller.check_engine("lr_step", Parts::LR)?;
            world.calls.push("lr_step()".into());
            Ok(())
        }
        read lr(world, _, group: usize) -> f64 {
            one(group).map(|()| world.group.lr)
        }
        call set_lr(world, caller, group: usize, lr: f64) {
            caller.check_engine("set_lr", Parts::LR)?;
            one(group)?;
            world.group.lr = lr;
            world.advance(|progress| progress.lr = lr);
            Ok(())
        }
    }

    pub(super) unsafe extern "C" fn group_count(_host: *mut c_void) -> usize {
        1
    }
}

pub(super) mod events {
    use super::{
        HrMetricReading, HrScalarReading, HrStr, METRIC_LATEST_STEP, Phase, functions, table,
    };

    table!(EventTable { key, put, latest, median, write, metric, metric_at, scalar_at });

    functions! {
        read key(world, caller, name: String, smooth: u32) -> u32 {
            let name = caller.full_name(world, &name);
            world.scalar_key(name, smooth != 0)
        }
        call put(world, _, key: u32, value: f64) { world.put(key, value) }
        find latest(world, _, key: u32) -> f64 {
            Ok(world.scalar(key)?.values.last().map(|(_, _, value)| *value))
        }
        find median(world, _, key: u32, window: usize) -> f64 {
            let values = world.scalar(key)?.values.iter().rev().take(window);
            let values = values.map(|(_, _, value)| *value);
            let mut values: Vec<_> = values.filter(|value| !value.is_nan()).collect();
            values.sort_by(f64::total_cmp);
            let (low, high) = (values.get(values.len().saturating_sub(1) / 2), values.get(values.len() / 2));
            Ok(low.zip(high).map(|(low, high)| f64::midpoint(*low, *high)))
        }
        call write(world, _) {
            world.calls.push("write_events()".into());
            Ok(())
        }
        find metric(world, _, phase: u32, name: String, which: u32) -> f64 {
            let phase = Phase::from_code(phase);
            let found = world.metrics.iter().find(|it| it.phase == phase && it.name == name);
            let value = found.map(|it| if which == METRIC_LATEST_STEP { it.step } else { it.epoch });
            Ok(value.filter(|value| !value.is_nan()))
        }
        find metric_at(world, _, index: usize) -> HrMetricReading {
            Ok(world.metrics.get(index).map(|it| HrMetricReading {
                name: HrStr::new(&it.name),
                phase: it.phase.code(),
                better: it.better,
                step: it.step,
                epoch: it.epoch,
            }))
        }
        find scalar_at(world, _, index: usize) -> HrScalarReading {
            let mut known = world.scalars.iter().enumerate().filter(|(_, it)| !it.values.is_empty());
            Ok(known.nth(index).and_then(|(key, it)| {
                let (iter, _, latest) = *it.values.last()?;
                let (key, smooth) = (u32::try_from(key).ok()?, it.smooth.into());
                Some(HrScalarReading { name: HrStr::new(&it.name), key, smooth, iter, latest })
            }))
        }
    }
}

pub(super) mod states {
    use super::{Caller, HrStr, HrValue, WireTree, c_void, functions, table};
    use crate::testing::world::World;
    use std::cell::RefCell;

    table!(StateTable { put, value, remove });

    thread_local! {
        // The value that was last lent, and its tree; the value is at one address for as long as the tree.
        static LENT: RefCell<Option<(WireTree<'static>, Box<crate::Value>)>> = const { RefCell::new(None) };
    }

    functions! {
        call put(world, _, key: String, value: *const HrValue) {
            // SAFETY: a hook lends the tree until this returns.
            let value = unsafe { value.as_ref().and_then(|value| value.to_value()) };
            let Some(value) = value else { crate::bail!("`{key}` is not a value") };
            remove_from(world, &key);
            world.states.push((key, value));
            Ok(())
        }
        has remove(world, _, key: String) { Ok(remove_from(world, &key)) }
    }

    pub(super) unsafe extern "C" fn value(host: *mut c_void, key: HrStr) -> *const HrValue {
        // SAFETY: a hook calls with the pointer of its handle; it lends the key until this returns.
        let (caller, key) = unsafe { (Caller::of(host), key.to_lossy()) };
        let found = caller.answer(|world, _| {
            Ok(world.states.iter().find(|(own, _)| *own == key).map(|(_, value)| value.clone()))
        });
        let Ok(Some(value)) = found else { return std::ptr::null() };
        let value = Box::new(value);
        // SAFETY: the box stays at its address until the next call, which drops the tree before it.
        let tree = WireTree::new(unsafe { &*std::ptr::from_ref(value.as_ref()) });
        LENT.with_borrow_mut(|lent| lent.insert((tree, value)).0.as_ptr())
    }

    fn remove_from(world: &mut World, key: &str) -> bool {
        let before = world.states.len();
        world.states.retain(|(own, _)| own != key);
        world.states.len() < before
    }
}
