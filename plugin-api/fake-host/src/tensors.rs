//! The tensor table over the arena.

use crate::{World, ops};
use hookrack_plugin_api::abi::{
    ARG_TENSOR, DLTensor, HrArg, HrHeader, HrOp, HrStatus, HrStr, HrTensor, HrTensors, TensorTable,
};
use std::ffi::c_void;

pub(crate) static TABLE: TensorTable = TensorTable {
    header: HrHeader::of::<TensorTable>(0),
    slot,
    set_slot,
    list,
    name,
    keep,
    release,
    item,
    view,
    from_view,
    op_find,
    op_call,
};

/// Writes what was found to the caller's place.
///
/// # Safety
/// `out` is a place for one `T`.
unsafe fn give<T>(world: &World, found: Result<T, String>, out: *mut T) -> HrStatus {
    // SAFETY: by the contract.
    world.answer(found.map(|value| unsafe { out.write(value) }))
}

unsafe extern "C" fn slot(host: *mut c_void, slot: u32, out: *mut HrTensor) -> HrStatus {
    // SAFETY: the handle is ours, the caller gives a place for one handle.
    unsafe {
        let world = World::of(host);
        match world.slots.borrow().get(&slot) {
            Some(id) => give(world, Ok(*id), out),
            None => HrStatus::ABSENT,
        }
    }
}

unsafe extern "C" fn set_slot(host: *mut c_void, slot: u32, tensor: HrTensor) -> HrStatus {
    // SAFETY: the handle is ours.
    let world = unsafe { World::of(host) };
    world.slots.borrow_mut().insert(slot, tensor);
    HrStatus::OK
}

unsafe extern "C" fn list(host: *mut c_void, list: u32, out: *mut HrTensors) -> HrStatus {
    // SAFETY: the handle is ours, the caller gives a place for one row.
    unsafe {
        let world = World::of(host);
        let lists = world.lists.borrow();
        let row =
            lists.get(list as usize).map(|row| HrTensors { ptr: row.as_ptr(), len: row.len() });
        give(world, row.ok_or_else(|| format!("there is no list {list}")), out)
    }
}

unsafe extern "C" fn name(host: *mut c_void, list: u32, index: usize, out: *mut HrStr) -> HrStatus {
    // SAFETY: the handle is ours, the caller gives a place for one text.
    unsafe {
        let world = World::of(host);
        let names = world.names.borrow();
        let name = names.get(list as usize).and_then(|names| names.get(index));
        give(world, name.map(|name| HrStr::new(name)).ok_or_else(|| "no such name".to_owned()), out)
    }
}

unsafe extern "C" fn keep(host: *mut c_void, tensor: HrTensor, out: *mut HrTensor) -> HrStatus {
    // SAFETY: the handle is ours, the caller gives a place for one handle.
    unsafe {
        let world = World::of(host);
        let kept = world.arena.borrow_mut().keep(tensor);
        give(world, kept, out)
    }
}

unsafe extern "C" fn release(host: *mut c_void, tensors: *const HrTensor, count: usize) {
    // SAFETY: the handle is ours, the caller lends `count` handles.
    let (world, handles) = unsafe {
        let first =
            if count == 0 { std::ptr::NonNull::dangling().as_ptr() } else { tensors.cast_mut() };
        (World::of(host), std::slice::from_raw_parts(first, count))
    };
    for id in handles {
        world.arena.borrow_mut().release(*id);
    }
}

unsafe extern "C" fn item(host: *mut c_void, _tensor: HrTensor, _out: *mut f64) -> HrStatus {
    // SAFETY: the handle is ours.
    unsafe { World::of(host) }.answer(Err("the fake host reads no single numbers".to_owned()))
}

unsafe extern "C" fn view(
    host: *mut c_void,
    tensor: HrTensor,
    _flags: u32,
    out: *mut DLTensor,
) -> HrStatus {
    // SAFETY: the handle is ours, the caller gives a place for one view.
    unsafe {
        let world = World::of(host);
        let view = world.arena.borrow().view(tensor);
        give(world, view, out)
    }
}

unsafe extern "C" fn from_view(
    host: *mut c_void,
    _view: *const DLTensor,
    _out: *mut HrTensor,
) -> HrStatus {
    // SAFETY: the handle is ours.
    unsafe { World::of(host) }.answer(Err("the fake host makes no tensors from views".to_owned()))
}

unsafe extern "C" fn op_find(host: *mut c_void, name: HrStr, out: *mut HrOp) -> HrStatus {
    // SAFETY: the handle is ours, the caller lends the name and gives a place for one number.
    unsafe { give(World::of(host), ops::find(&name.to_lossy()).map(HrOp), out) }
}

unsafe extern "C" fn op_call(
    host: *mut c_void,
    op: HrOp,
    args: *const HrArg,
    arg_count: usize,
    results: *mut HrArg,
    capacity: usize,
    count: *mut usize,
) -> HrStatus {
    // SAFETY: the handle is ours, the caller lends the arguments.
    let (world, args) = unsafe { (World::of(host), std::slice::from_raw_parts(args, arg_count)) };
    let result = ops::call(&mut world.arena.borrow_mut(), op.0, args);
    world.answer(result.map(|made| {
        let made = made.filter(|_| capacity > 0);
        // SAFETY: the caller gives places for `capacity` results and for their number.
        unsafe { count.write(usize::from(made.is_some())) };
        if let Some(id) = made {
            #[expect(
                clippy::cast_possible_wrap,
                reason = "a handle is 64 bits, whatever they are called"
            )]
            let result = HrArg { kind: ARG_TENSOR, int: id.0 as i64, ..HrArg::NONE };
            // SAFETY: as above.
            unsafe { results.write(result) };
        }
    }))
}
