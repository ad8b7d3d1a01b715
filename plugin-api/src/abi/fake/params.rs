//! Parameters by pattern and the one parameter group of the fake host.

use super::{functions, table};
use crate::abi::HrStr;
use crate::error::Result;
use crate::testing::pattern::Pattern;
use crate::testing::rules::Parts;

table!(ParamTable {
    trainable,
    set_trainable,
    group_of,
    group_name,
    base_lr,
    set_base_lr,
    momentum,
    set_momentum,
    weight_decay,
    set_weight_decay
});

pub(super) fn one(group: usize) -> Result<()> {
    crate::ensure!(group == 0, "parameter group {group} does not exist: the fake trainer has one");
    Ok(())
}

functions! {
    read trainable(world, _, index: usize) -> u32 {
        let param = world.params.get(index);
        let param = param.ok_or_else(|| crate::Error::new(format!("parameter {index} does not exist")))?;
        Ok(param.trainable.into())
    }
    read set_trainable(world, caller, pattern: String, trainable: u32) -> usize {
        caller.check_engine("set_trainable", Parts::PARAMS)?;
        let names = Pattern::parse(&pattern)?;
        let fitting = world.params.iter_mut().filter(|param| names.matches(&param.name));
        let count = fitting.map(|param| param.trainable = trainable != 0).count();
        crate::ensure!(count > 0, "no parameter matches `{pattern}`");
        Ok(count)
    }
    read group_of(_, _, _index: usize) -> usize { Ok(0) }
    read group_name(world, _, group: usize) -> HrStr {
        one(group)?;
        Ok(HrStr::new(&world.group.name))
    }
    read base_lr(world, _, group: usize) -> f64 { one(group).map(|()| world.group.base_lr) }
    call set_base_lr(world, caller, group: usize, value: f64) {
        caller.check_engine("set_group_base_lr", Parts::LR)?;
        one(group).map(|()| world.group.base_lr = value)
    }
    find momentum(world, _, group: usize) -> f64 { one(group).map(|()| world.group.momentum) }
    call set_momentum(world, caller, group: usize, value: f64) {
        caller.check_engine("set_group_momentum", Parts::MOMENTUM.and(Parts::LR))?;
        one(group).map(|()| world.group.momentum = Some(value))
    }
    read weight_decay(world, _, group: usize) -> f64 {
        one(group).map(|()| world.group.weight_decay)
    }
    call set_weight_decay(world, caller, group: usize, value: f64) {
        caller.check_engine("set_group_weight_decay", Parts::PARAMS.and(Parts::LR))?;
        one(group).map(|()| world.group.weight_decay = value)
    }
}
