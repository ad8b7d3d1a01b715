//! Tensors for plugins: by slot, by list, by view.

use super::desk::Desk;
use super::ops;
use crate::context::{Context, Lease};
use crate::torch::dlpack;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::{
    DLDevice, DLTensor, DataType, HrHeader, HrStatus, HrStr, HrTensor, HrTensors, LIST_BUFFERS,
    LIST_GRADS, LIST_PARAMS, SLOT_GRAD_NORM, SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT,
    TensorTable, VIEW_WRITE,
};
use std::ffi::c_void;
use tch::Tensor;

/// The host's tensor table.
pub(super) static TABLE: TensorTable = TensorTable {
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
    op_find: ops::find,
    op_call: ops::call,
};

unsafe extern "C" fn slot(host: *mut c_void, slot: u32, out: *mut HrTensor) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.serve(|context| {
        if slot == SLOT_GRAD_NORM {
            context.grad_norm().map_err(|e| e.to_string())?;
        }
        let handle = context.current.borrow_mut().handle(slot, &mut context.arena.borrow_mut());
        let Some(handle) = handle else { return Ok::<_, String>(HrStatus::ABSENT) };
        // SAFETY: the caller gives a place for one handle.
        unsafe { out.write(handle) };
        Ok(HrStatus::OK)
    })
}

unsafe extern "C" fn set_slot(host: *mut c_void, slot: u32, tensor: HrTensor) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    let desk = unsafe { Desk::of(host) };
    desk.answer(|context| {
        let point = desk.point();
        let tensor = clone_of(context, tensor)?;
        match slot {
            SLOT_INPUT => context.change_batch(slot, tensor, before_iter(point, "input")?),
            SLOT_LABEL => context.change_batch(slot, tensor, before_iter(point, "label")?),
            SLOT_OUTPUT | SLOT_LOSS => {
                in_role(point, if slot == SLOT_OUTPUT { "output" } else { "loss" })?;
                context.current.borrow_mut().set(slot, Some(tensor));
                Ok(())
            }
            _ => Err("only input, label, output and loss can be set".to_owned()),
        }
    })
}

fn here(point: Option<Point>) -> String {
    point.map_or_else(|| "here".to_owned(), |point| format!("at {point}"))
}

fn in_role(point: Option<Point>, what: &str) -> Result<(), String> {
    if point.is_some_and(Point::is_role) {
        return Ok(());
    }
    let here = here(point);
    Err(format!(
        "the {what} cannot be set {here}: only a role (on_train_forward and its like) may set it, while it is being called; \
         take the role, or leave the {what} alone"
    ))
}

/// Refuses to change the batch unless it is about to be used, and gives the name of what is changed.
fn before_iter(point: Option<Point>, what: &str) -> Result<&str, String> {
    use Point as P;
    match point {
        Some(
            P::BeforeIter
            | P::BeforeTrainIter
            | P::BeforeEvalIter
            | P::BeforeValIter
            | P::BeforeTestIter
            | P::BeforePredIter,
        ) => Ok(what),
        point => {
            let here = here(point);
            Err(format!(
                "the {what} cannot be set {here}: the batch can be changed at before_iter and before_train_iter (or \
                 before_eval_iter and its like), before anything is made of it; a role runs the model on another input by \
                 model()"
            ))
        }
    }
}

fn clone_of(context: &Context, tensor: HrTensor) -> Result<Tensor, String> {
    context.arena.borrow().tensor(tensor).map(Tensor::shallow_clone).map_err(|e| e.to_string())
}

unsafe extern "C" fn list(host: *mut c_void, list: u32, out: *mut HrTensors) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.serve(|context| {
        let row = match list {
            LIST_PARAMS => lend(&context.fixed.params),
            LIST_BUFFERS => lend(&context.fixed.buffers),
            LIST_GRADS => {
                let mut row = context.grads.borrow_mut();
                let (engine, mut arena) = (context.engine.borrow(), context.arena.borrow_mut());
                lend(row.handles(engine.params(), &mut arena).map_err(|e| e.to_string())?)
            }
            _ => return Ok::<_, String>(HrStatus::ABSENT),
        };
        // SAFETY: the caller gives a place for one row.
        unsafe { out.write(row) };
        Ok(HrStatus::OK)
    })
}

fn lend(handles: &[HrTensor]) -> HrTensors {
    HrTensors { ptr: handles.as_ptr(), len: handles.len() }
}

unsafe extern "C" fn name(host: *mut c_void, list: u32, index: usize, out: *mut HrStr) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        let engine = context.engine.borrow();
        let tensors = match list {
            LIST_PARAMS | LIST_GRADS => engine.params(),
            LIST_BUFFERS => engine.buffers(),
            _ => return Err(format!("this host does not support list {list}")),
        };
        let named = tensors.get(index).ok_or_else(|| format!("the list has no tensor {index}"))?;
        // SAFETY: the caller gives a place for one text; a model's names do not change.
        unsafe { out.write(HrStr::new(&named.name)) };
        Ok(())
    })
}

unsafe extern "C" fn keep(host: *mut c_void, tensor: HrTensor, out: *mut HrTensor) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        let tensor = clone_of(context, tensor)?;
        let handle = context.arena.borrow_mut().insert(tensor, Lease::Owned);
        // SAFETY: the caller gives a place for one handle.
        unsafe { out.write(handle) };
        Ok::<_, String>(())
    })
}

unsafe extern "C" fn release(host: *mut c_void, tensors: *const HrTensor, count: usize) {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        let mut arena = context.arena.borrow_mut();
        for i in 0..count {
            // SAFETY: the caller lends `count` handles until this returns.
            arena.release(unsafe { tensors.add(i).read() });
        }
        Ok::<_, String>(())
    });
}

unsafe extern "C" fn item(host: *mut c_void, tensor: HrTensor, out: *mut f64) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        let arena = context.arena.borrow();
        let tensor = arena.tensor(tensor).map_err(|e| e.to_string())?;
        if tensor.numel() != 1 {
            return Err(format!("a tensor of shape {:?} has no single number", tensor.size()));
        }
        let number = tensor.f_double_value(&[]).map_err(|e| e.to_string())?;
        // SAFETY: the caller gives a place for one number.
        unsafe { out.write(number) };
        Ok(())
    })
}

unsafe extern "C" fn view(
    host: *mut c_void,
    tensor: HrTensor,
    flags: u32,
    out: *mut DLTensor,
) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    let desk = unsafe { Desk::of(host) };
    desk.answer(|context| {
        if flags & VIEW_WRITE != 0 && !desk.may_write {
            return Err(
                "the hook asked to write, but its manifest does not declare that it mutates anything"
                    .to_owned(),
            );
        }
        let arena = context.arena.borrow();
        let tensor = arena.tensor(tensor).map_err(|e| e.to_string())?;
        let raw = dlpack::View::of(tensor).map_err(|e| e.to_string())?.raw();
        // SAFETY: the caller gives a place for one view.
        unsafe {
            out.write(DLTensor {
                data: raw.data,
                device: DLDevice { device_type: raw.device_type, device_id: raw.device_id },
                ndim: i32::try_from(raw.dims).unwrap_or(i32::MAX),
                dtype: DataType { code: raw.code, bits: raw.bits, lanes: raw.lanes },
                shape: raw.shape,
                strides: raw.strides,
                byte_offset: 0,
            });
        }
        Ok(())
    })
}

unsafe extern "C" fn from_view(
    host: *mut c_void,
    view: *const DLTensor,
    out: *mut HrTensor,
) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the view until this returns.
    let (desk, view) = unsafe { (Desk::of(host), &*view) };
    desk.answer(|context| {
        let offset = usize::try_from(view.byte_offset).map_err(|e| e.to_string())?;
        let raw = dlpack::RawView {
            data: view.data.cast::<u8>().wrapping_add(offset).cast(),
            shape: view.shape,
            strides: view.strides,
            dims: i64::from(view.ndim),
            device_type: view.device.device_type,
            device_id: view.device.device_id,
            code: view.dtype.code,
            bits: view.dtype.bits,
            lanes: view.dtype.lanes,
        };
        // SAFETY: the caller vouches for the memory that the view describes until this returns.
        let tensor = unsafe { dlpack::copy_of(&raw) }.map_err(|e| e.to_string())?;
        let handle = context.arena.borrow_mut().insert(tensor, Lease::Owned);
        // SAFETY: the caller gives a place for one handle.
        unsafe { out.write(handle) };
        Ok::<_, String>(())
    })
}
