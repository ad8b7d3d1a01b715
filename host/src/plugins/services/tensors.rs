//! Tensors for plugins: by slot, by list, by view.

use super::ops;
use super::service::{lent, service};
use crate::context::{Context, Lease, Slot};
use crate::torch::{dlpack, shape, storage_of};
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::{
    DLDevice, DLTensor, DataType, HrHeader, HrStatus, HrStr, HrTensor, HrTensors, LIST_BUFFERS,
    LIST_GRADS, LIST_PARAMS, TensorTable, VIEW_WRITE,
};
use std::ffi::c_void;

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
    service!(host, found(out), |context| {
        let Some(slot) = Slot::from_code(slot) else { return Ok(None) };
        match slot {
            Slot::GradNorm => context.grad_norm()?,
            Slot::Loss => context.whole_loss()?,
            Slot::Input | Slot::Label | Slot::Output => {}
        }
        if matches!(slot, Slot::Output | Slot::Loss) {
            on_this_stage(context, slot)?;
        }
        Ok(context.current.borrow_mut().handle(slot, &mut context.arena.borrow_mut()))
    })
}

/// An error if another stage of a pipeline has the output or the loss.
fn on_this_stage(context: &Context, slot: Slot) -> Result<(), String> {
    let is_absent = context.current.borrow().tensor(slot).is_none();
    if !(is_absent && context.is_elsewhere()) {
        return Ok(());
    }
    let what = slot.name();
    let engine = context.engine.borrow();
    let stage = engine.stage().map_or(0, |stage| stage.number);
    Err(format!(
        "the {what} is on the last stage of the pipeline, and this rank has stage {stage}: set ranks = \"last_stage\" for this hook"
    ))
}

unsafe extern "C" fn set_slot(host: *mut c_void, slot: u32, tensor: HrTensor) -> HrStatus {
    service!(host, |context, endpoint| {
        let point = endpoint.point();
        let tensor = context.tensor(tensor)?;
        match Slot::from_code(slot) {
            Some(slot @ (Slot::Input | Slot::Label)) => {
                before_iter(point, slot.name())?;
                endpoint.check_declared(slot.part(), || format!("set_{}()", slot.name()))?;
                context.change_batch(slot, tensor)?;
            }
            Some(slot @ (Slot::Output | Slot::Loss)) => {
                in_role(point, slot.name())?;
                context.current.borrow_mut().set(slot, Some(tensor));
            }
            Some(Slot::GradNorm) | None => {
                return Err("only input, label, output and loss can be set".into());
            }
        }
        Ok(())
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
        "the {what} cannot be set {here}: only a role (on_train_forward and the like) can set it, while it is being called"
    ))
}

/// Refuses to change the batch unless it is about to be used.
fn before_iter(point: Option<Point>, what: &str) -> Result<(), String> {
    use Point as P;
    match point {
        Some(
            P::BeforeIter
            | P::BeforeTrainIter
            | P::BeforeEvalIter
            | P::BeforeValIter
            | P::BeforeTestIter
            | P::BeforePredIter,
        ) => Ok(()),
        point => {
            let here = here(point);
            Err(format!(
                "the {what} cannot be set {here}: the batch can be changed at before_iter and before_train_iter (or \
                 before_eval_iter and the like), before it is used; a role can run the model on another input with model()"
            ))
        }
    }
}

unsafe extern "C" fn list(host: *mut c_void, list: u32, out: *mut HrTensors) -> HrStatus {
    service!(host, found(out), |context| Ok(match list {
        LIST_PARAMS => Some(lend(&context.fixed.params)),
        LIST_BUFFERS => Some(lend(&context.fixed.buffers)),
        LIST_GRADS => {
            let mut row = context.grads.borrow_mut();
            let (engine, mut arena) = (context.engine.borrow(), context.arena.borrow_mut());
            Some(lend(row.handles(engine.params(), &mut arena)?))
        }
        _ => None,
    }))
}

fn lend(handles: &[HrTensor]) -> HrTensors {
    HrTensors { ptr: handles.as_ptr(), len: handles.len() }
}

unsafe extern "C" fn name(host: *mut c_void, list: u32, index: usize, out: *mut HrStr) -> HrStatus {
    service!(host, out(out), |context| {
        let engine = context.engine.borrow();
        let tensors = match list {
            LIST_PARAMS | LIST_GRADS => engine.params(),
            LIST_BUFFERS => engine.buffers(),
            _ => return Err(format!("this host does not support list {list}").into()),
        };
        let named = tensors.get(index).ok_or_else(|| format!("the list has no tensor {index}"))?;
        // A model's names do not change.
        Ok(HrStr::new(&named.name))
    })
}

unsafe extern "C" fn keep(host: *mut c_void, tensor: HrTensor, out: *mut HrTensor) -> HrStatus {
    service!(host, out(out), |context| {
        let mut arena = context.arena.borrow_mut();
        let (part, tensor) = (arena.part(tensor)?, arena.tensor(tensor)?.shallow_clone());
        Ok(arena.insert_part(tensor, Lease::Owned, part))
    })
}

unsafe extern "C" fn release(host: *mut c_void, tensors: *const HrTensor, count: usize) {
    service!(host, |context| {
        let mut arena = context.arena.borrow_mut();
        // SAFETY: the caller lends `count` handles until this returns.
        unsafe { lent(tensors, count) }.iter().for_each(|tensor| arena.release(*tensor));
        Ok(())
    });
}

unsafe extern "C" fn item(host: *mut c_void, tensor: HrTensor, out: *mut f64) -> HrStatus {
    service!(host, out(out), |context| {
        let arena = context.arena.borrow();
        let tensor = arena.tensor(tensor)?;
        if shape::count(tensor) != 1 {
            return Err(format!(
                "a tensor of shape {:?} does not have a single element",
                tensor.size()
            )
            .into());
        }
        Ok(tensor.f_double_value(&[])?)
    })
}

unsafe extern "C" fn view(
    host: *mut c_void,
    tensor: HrTensor,
    flags: u32,
    out: *mut DLTensor,
) -> HrStatus {
    service!(host, out(out), |context, endpoint| {
        let arena = context.arena.borrow();
        if flags & VIEW_WRITE != 0 {
            endpoint.check_declared(arena.part(tensor)?, || "a writable view".to_owned())?;
        }
        let tensor = arena.tensor(tensor)?;
        endpoint.note_view(storage_of(tensor));
        let raw = dlpack::View::of(tensor)?.raw();
        Ok(DLTensor {
            data: raw.data,
            device: DLDevice { device_type: raw.device_type, device_id: raw.device_id },
            ndim: i32::try_from(raw.dims).unwrap_or(i32::MAX),
            dtype: DataType { code: raw.code, bits: raw.bits, lanes: raw.lanes },
            shape: raw.shape,
            strides: raw.strides,
            byte_offset: 0,
        })
    })
}

unsafe extern "C" fn from_view(
    host: *mut c_void,
    view: *const DLTensor,
    out: *mut HrTensor,
) -> HrStatus {
    service!(host, out(out), |context| {
        // SAFETY: the caller lends the view until this returns.
        let view = unsafe { &*view };
        let offset = usize::try_from(view.byte_offset)?;
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
        let tensor = unsafe { dlpack::copy_of(&raw) }?;
        Ok(context.hand_over(tensor))
    })
}
