//! Which parameters are trained, and what their groups are stepped with.

use super::desk::Desk;
use crate::engine::optimizer::Group;
use crate::engine::{Engine, EngineError};
use hookrack_plugin_api::abi::{HrHeader, HrStatus, HrStr, ParamTable};
use std::ffi::c_void;

/// The host's parameter table.
pub(super) static TABLE: ParamTable = ParamTable {
    header: HrHeader::of::<ParamTable>(0),
    trainable,
    set_trainable,
    group_of,
    group_name,
    base_lr,
    set_base_lr,
    momentum,
    set_momentum,
    weight_decay,
    set_weight_decay,
};

/// Writes what `body` finds to `out`; ABSENT where it finds nothing.
///
/// # Safety
/// `host` belongs to a handle of ours, `out` is a place for one `T`.
unsafe fn tell<T>(
    host: *mut c_void,
    out: *mut T,
    body: impl FnOnce(&Engine) -> Result<Option<T>, EngineError>,
) -> HrStatus {
    // SAFETY: by the contract.
    unsafe { Desk::of(host) }.serve(|context| match body(&context.engine.borrow())? {
        None => Ok::<_, EngineError>(HrStatus::ABSENT),
        Some(found) => {
            // SAFETY: by the contract.
            unsafe { out.write(found) };
            Ok(HrStatus::OK)
        }
    })
}

/// Changes a group.
///
/// # Safety
/// `host` belongs to a handle of ours.
unsafe fn change(host: *mut c_void, group: usize, body: impl FnOnce(&mut Group)) -> HrStatus {
    // SAFETY: by the contract.
    unsafe { Desk::of(host) }
        .answer(|context| context.engine.borrow_mut().group_mut(group).map(body))
}

unsafe extern "C" fn trainable(host: *mut c_void, index: usize, out: *mut u32) -> HrStatus {
    // SAFETY: the caller's handle is ours, and it gives a place for one number.
    unsafe {
        tell(host, out, |engine| {
            let param = engine.params().get(index).ok_or(EngineError::NoParam { index })?;
            Ok(Some(u32::from(param.tensor.requires_grad())))
        })
    }
}

unsafe extern "C" fn set_trainable(
    host: *mut c_void,
    pattern: HrStr,
    trainable: u32,
    out: *mut usize,
) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the pattern until this returns.
    let (desk, pattern) = unsafe { (Desk::of(host), pattern.to_lossy()) };
    desk.answer(|context| {
        let count = context.engine.borrow_mut().set_trainable(&pattern, trainable != 0)?;
        // SAFETY: the caller gives a place for one number.
        unsafe { out.write(count) };
        Ok::<_, EngineError>(())
    })
}

unsafe extern "C" fn group_of(host: *mut c_void, index: usize, out: *mut usize) -> HrStatus {
    // SAFETY: the caller's handle is ours, and it gives a place for one number.
    unsafe { tell(host, out, |engine| engine.group_of(index).map(Some)) }
}

unsafe extern "C" fn group_name(host: *mut c_void, group: usize, out: *mut HrStr) -> HrStatus {
    // A group keeps its name for the run, so it can be lent for as long.
    // SAFETY: the caller's handle is ours, and it gives a place for one text.
    unsafe { tell(host, out, |engine| Ok(Some(HrStr::new(&engine.group(group)?.name)))) }
}

unsafe extern "C" fn base_lr(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus {
    // SAFETY: the caller's handle is ours, and it gives a place for one number.
    unsafe { tell(host, out, |engine| Ok(Some(engine.group(group)?.base_lr))) }
}

unsafe extern "C" fn set_base_lr(host: *mut c_void, group: usize, value: f64) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { change(host, group, |group| group.base_lr = value) }
}

unsafe extern "C" fn momentum(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus {
    // SAFETY: the caller's handle is ours, and it gives a place for one number.
    unsafe { tell(host, out, |engine| Ok(engine.group(group)?.momentum)) }
}

unsafe extern "C" fn set_momentum(host: *mut c_void, group: usize, value: f64) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        let mut engine = context.engine.borrow_mut();
        let momentum = engine.group_mut(group)?.momentum.as_mut();
        *momentum.ok_or(EngineError::NoMomentum)? = value;
        Ok::<_, EngineError>(())
    })
}

unsafe extern "C" fn weight_decay(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus {
    // SAFETY: the caller's handle is ours, and it gives a place for one number.
    unsafe { tell(host, out, |engine| Ok(Some(engine.group(group)?.weight_decay))) }
}

unsafe extern "C" fn set_weight_decay(host: *mut c_void, group: usize, value: f64) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { change(host, group, |group| group.weight_decay = value) }
}
