//! Tensors and operators.

use super::Host;
use crate::abi::{DLTensor, HrArg, HrOp, HrStr, HrTensor, HrTensors};
use crate::error::Result;

impl Host {
    /// The tensor of a slot.
    pub fn slot(self, slot: u32) -> Result<Option<HrTensor>> {
        self.fill(self.tensors().slot, slot, HrTensor::NONE)
    }

    /// Replaces the tensor of a slot.
    pub fn set_slot(self, slot: u32, tensor: HrTensor) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.tensors().set_slot)(self.raw(), slot, tensor) })
    }

    /// The handles of a list. They stay valid until the engine changes something.
    pub fn list<'a>(self, list: u32) -> Result<&'a [HrTensor]> {
        let empty = HrTensors { ptr: std::ptr::null(), len: 0 };
        let row = self.fill(self.tensors().list, list, empty)?.unwrap_or(empty);
        if row.len == 0 {
            return Ok(&[]);
        }
        // SAFETY: the host lends `len` handles; callers tie the slice to a borrow of the trainer.
        Ok(unsafe { std::slice::from_raw_parts(row.ptr, row.len) })
    }

    /// The name of a tensor in a list.
    pub fn name(self, list: u32, index: usize) -> Result<String> {
        let mut out = HrStr::EMPTY;
        // SAFETY: the host writes one text, lent for the run.
        self.check(unsafe { (self.tensors().name)(self.raw(), list, index, &raw mut out) })?;
        // SAFETY: as above.
        Ok(unsafe { out.to_lossy() }.into_owned())
    }

    /// A second, owned handle.
    pub fn keep(self, tensor: HrTensor) -> Result<HrTensor> {
        let mut out = HrTensor::NONE;
        // SAFETY: the host writes one handle.
        self.check(unsafe { (self.tensors().keep)(self.raw(), tensor, &raw mut out) })?;
        Ok(out)
    }

    /// Releases owned handles.
    pub fn release(self, tensors: &[HrTensor]) {
        // SAFETY: the row is lent until the call returns.
        unsafe { (self.tensors().release)(self.raw(), tensors.as_ptr(), tensors.len()) }
    }

    /// The value of a tensor with one element.
    pub fn item(self, tensor: HrTensor) -> Result<f64> {
        let mut out = 0.0;
        // SAFETY: the host writes one number.
        self.check(unsafe { (self.tensors().item)(self.raw(), tensor, &raw mut out) })?;
        Ok(out)
    }

    /// A view of a tensor's memory.
    pub fn view(self, tensor: HrTensor, flags: u32) -> Result<DLTensor> {
        let mut out = std::mem::MaybeUninit::<DLTensor>::uninit();
        // SAFETY: the host fills the struct whenever it returns OK.
        self.check(unsafe { (self.tensors().view)(self.raw(), tensor, flags, out.as_mut_ptr()) })?;
        // SAFETY: OK was returned.
        Ok(unsafe { out.assume_init() })
    }

    /// A new tensor with a copy of the viewed memory.
    pub fn from_view(self, view: &DLTensor) -> Result<HrTensor> {
        let mut out = HrTensor::NONE;
        // SAFETY: the view is lent until the call returns; the host writes one handle.
        self.check(unsafe { (self.tensors().from_view)(self.raw(), view, &raw mut out) })?;
        Ok(out)
    }

    /// Finds an operator.
    pub fn op_find(self, name: &str) -> Result<HrOp> {
        let mut out = HrOp(0);
        // SAFETY: the name is lent until the call returns; the host writes one number.
        self.check(unsafe {
            (self.tensors().op_find)(self.raw(), HrStr::new(name), &raw mut out)
        })?;
        Ok(out)
    }

    /// Calls an operator and writes its results to the beginning of `results`.
    pub fn op_call(self, op: HrOp, args: &[HrArg], results: &mut [HrArg]) -> Result<usize> {
        let mut count = 0;
        // SAFETY: arguments are lent until the call returns; the host writes at most `results.len()` results.
        self.check(unsafe {
            (self.tensors().op_call)(
                self.raw(),
                op,
                args.as_ptr(),
                args.len(),
                results.as_mut_ptr(),
                results.len(),
                &raw mut count,
            )
        })?;
        Ok(count.min(results.len()))
    }
}
