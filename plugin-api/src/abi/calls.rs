//! Calls from a plugin into the host, each wrapped once: the safe half of the crate is built on these.

use super::{
    ARTIFACTS, ArtifactTable, DLTensor, EngineTable, EventTable, HrArg, HrOp, HrProgress, HrStatus,
    HrStr, HrTensor, HrTensors, StateTable, TensorTable, TrainerHandle, WireTree,
};
use crate::error::{Error, Result};
use crate::value::Value;
use std::ffi::c_void;

/// The host as one hook instance sees it. The handle behind it outlives the instance.
#[derive(Clone, Copy)]
pub struct Host(&'static TrainerHandle);

type Slot<T> = unsafe extern "C" fn(*mut c_void, u32, *mut T) -> HrStatus;

impl Host {
    /// Takes a handle that came over the wire.
    ///
    /// # Safety
    /// The handle must be a host's, valid until the instance that it was made for is destroyed.
    pub unsafe fn from_raw(handle: *const TrainerHandle) -> Self {
        // SAFETY: the caller vouches for the handle; instances are the only ones that keep a `Host`.
        Self(unsafe { &*handle })
    }

    fn raw(self) -> *mut c_void {
        self.0.host
    }

    fn tensors(self) -> &'static TensorTable {
        // SAFETY: a host fills every table pointer of its handle with a table that lives as long as the handle.
        unsafe { &*self.0.tensors }
    }

    fn engine(self) -> &'static EngineTable {
        // SAFETY: as in `tensors`.
        unsafe { &*self.0.engine }
    }

    fn events(self) -> &'static EventTable {
        // SAFETY: as in `tensors`.
        unsafe { &*self.0.events }
    }

    fn states(self) -> &'static StateTable {
        // SAFETY: as in `tensors`.
        unsafe { &*self.0.states }
    }

    /// Turns a status into a result, with the text that the host kept.
    fn check(self, status: HrStatus) -> Result<()> {
        if status == HrStatus::OK {
            return Ok(());
        }
        // SAFETY: the handle is valid; the text is copied before the next call.
        Err(Error::new(unsafe { (self.0.last_error)(self.raw()).to_lossy() }))
    }

    /// Like `check`, with ABSENT as `None`.
    fn present<T>(self, status: HrStatus, value: T) -> Result<Option<T>> {
        if status == HrStatus::ABSENT {
            return Ok(None);
        }
        self.check(status).map(|()| Some(value))
    }

    fn fill<T: Copy>(self, function: Slot<T>, index: u32, empty: T) -> Result<Option<T>> {
        let mut out = empty;
        // SAFETY: the host writes one `T` to a place that is there for it.
        let status = unsafe { function(self.raw(), index, &raw mut out) };
        self.present(status, out)
    }

    /// Where the run is.
    #[inline]
    pub fn progress(self) -> HrProgress {
        // SAFETY: the host keeps the struct at one address and changes it only between or inside its own calls,
        // on this thread; it is copied out here.
        unsafe { self.0.progress.read() }
    }

    /// The instance's name.
    pub fn instance(self) -> &'static str {
        // SAFETY: the name is lent for the run and was UTF-8 in the config.
        match unsafe { self.0.instance.to_lossy() } {
            std::borrow::Cow::Borrowed(name) => name,
            std::borrow::Cow::Owned(_) => "",
        }
    }

    /// Whether anybody listens to lines of this level.
    #[inline]
    pub fn log_enabled(self, level: u32) -> bool {
        // SAFETY: the host keeps the number at one address; a torn read is not possible for 32 aligned bits.
        level <= unsafe { self.0.log_level.read_volatile() }
    }

    /// Hands a line to the host's log.
    pub fn log(self, level: u32, target: &str, message: &str) {
        // SAFETY: both texts are lent until the call returns.
        unsafe { (self.0.log)(self.raw(), level, HrStr::new(target), HrStr::new(message)) }
    }

    /// Says why the status about to be returned is not OK.
    pub fn set_error(self, message: &str) {
        // SAFETY: the text is lent until the call returns.
        unsafe { (self.0.set_error)(self.raw(), HrStr::new(message)) }
    }

    /// Asks for something.
    pub fn request(self, what: u32, why: &str) -> Result<()> {
        // SAFETY: the text is lent until the call returns.
        self.check(unsafe { (self.0.request)(self.raw(), what, HrStr::new(why)) })
    }

    /// The failure that the run ended with, if any.
    pub fn failure(self) -> Option<String> {
        // SAFETY: the text is copied before the point returns.
        let text = unsafe { (self.0.failure)(self.raw()).to_lossy() };
        (!text.is_empty()).then(|| text.into_owned())
    }

    /// A later service by its id; null where this host has none.
    pub fn extension(self, id: &str) -> *const c_void {
        // SAFETY: the id is lent until the call returns.
        unsafe { (self.0.extension)(self.raw(), HrStr::new(id)) }
    }

    /// The tensor of a slot.
    pub fn slot(self, slot: u32) -> Result<Option<HrTensor>> {
        self.fill(self.tensors().slot, slot, HrTensor::NONE)
    }

    /// Replaces the tensor of a slot.
    pub fn set_slot(self, slot: u32, tensor: HrTensor) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.tensors().set_slot)(self.raw(), slot, tensor) })
    }

    /// The handles of a list. The row stays as it is until the engine is asked to change something.
    pub fn list<'a>(self, list: u32) -> Result<&'a [HrTensor]> {
        let empty = HrTensors { ptr: std::ptr::null(), len: 0 };
        let row = self.fill(self.tensors().list, list, empty)?.unwrap_or(empty);
        if row.len == 0 {
            return Ok(&[]);
        }
        // SAFETY: the host lends `len` handles; callers tie the slice to a borrow of the trainer.
        Ok(unsafe { std::slice::from_raw_parts(row.ptr, row.len) })
    }

    /// A listed tensor's name.
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

    /// Gives owned handles back.
    pub fn release(self, tensors: &[HrTensor]) {
        // SAFETY: the row is lent until the call returns.
        unsafe { (self.tensors().release)(self.raw(), tensors.as_ptr(), tensors.len()) }
    }

    /// The single number in a tensor.
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

    /// Calls an operator; the results are in the front of `results`.
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

    /// Runs the model on the current input.
    pub fn forward(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.engine().forward)(self.raw()) })
    }

    /// Runs the model on a tensor.
    pub fn model(self, input: HrTensor) -> Result<HrTensor> {
        let mut out = HrTensor::NONE;
        // SAFETY: the host writes one handle.
        self.check(unsafe { (self.engine().model)(self.raw(), input, &raw mut out) })?;
        Ok(out)
    }

    /// Computes the configured loss.
    pub fn criterion(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.engine().criterion)(self.raw()) })
    }

    /// Differentiates the loss.
    pub fn backward(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.engine().backward)(self.raw()) })
    }

    /// Changes the parameters.
    pub fn optimizer_step(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.engine().optimizer_step)(self.raw()) })
    }

    /// Sets the learning rate by the schedule.
    pub fn lr_step(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.engine().lr_step)(self.raw()) })
    }

    /// How many groups the optimizer has.
    pub fn group_count(self) -> usize {
        // SAFETY: a valid handle is all it needs.
        unsafe { (self.engine().group_count)(self.raw()) }
    }

    /// A group's learning rate.
    pub fn lr(self, group: usize) -> Result<f64> {
        let mut out = 0.0;
        // SAFETY: the host writes one number.
        self.check(unsafe { (self.engine().lr)(self.raw(), group, &raw mut out) })?;
        Ok(out)
    }

    /// Sets a group's learning rate.
    pub fn set_lr(self, group: usize, lr: f64) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.engine().set_lr)(self.raw(), group, lr) })
    }

    /// Interns a scalar's name.
    pub fn scalar_key(self, name: &str, smooth: bool) -> Result<u32> {
        let mut out = 0;
        // SAFETY: the name is lent until the call returns; the host writes one number.
        self.check(unsafe {
            (self.events().key)(self.raw(), HrStr::new(name), u32::from(smooth), &raw mut out)
        })?;
        Ok(out)
    }

    /// Puts a scalar.
    pub fn put_scalar(self, key: u32, value: f64) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.events().put)(self.raw(), key, value) })
    }

    /// The last value of a scalar.
    pub fn latest(self, key: u32) -> Result<Option<f64>> {
        self.fill(self.events().latest, key, 0.0)
    }

    /// The median of the last values of a scalar.
    pub fn median(self, key: u32, window: usize) -> Result<Option<f64>> {
        let mut out = 0.0;
        // SAFETY: the host writes one number.
        let status = unsafe { (self.events().median)(self.raw(), key, window, &raw mut out) };
        self.present(status, out)
    }

    /// Has the writers write.
    pub fn write_events(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.events().write)(self.raw()) })
    }

    /// A metric's value.
    pub fn metric(self, phase: u32, name: &str, which: u32) -> Result<Option<f64>> {
        let mut out = 0.0;
        // SAFETY: the name is lent until the call returns; the host writes one number.
        let status = unsafe {
            (self.events().metric)(self.raw(), phase, HrStr::new(name), which, &raw mut out)
        };
        self.present(status, out)
    }

    /// Puts a shared value.
    pub fn put_state(self, key: &str, value: &Value) -> Result<()> {
        let tree = WireTree::new(value);
        // SAFETY: key and tree are lent until the call returns.
        self.check(unsafe { (self.states().put)(self.raw(), HrStr::new(key), tree.as_ptr()) })
    }

    /// A shared value.
    pub fn state(self, key: &str) -> Option<Value> {
        // SAFETY: the key is lent until the call returns; the tree is copied before the next call.
        unsafe { (self.states().value)(self.raw(), HrStr::new(key)).as_ref()?.to_value() }
    }

    /// Removes a shared value; false where there was none.
    pub fn remove_state(self, key: &str) -> Result<bool> {
        // SAFETY: the key is lent until the call returns.
        let status = unsafe { (self.states().remove)(self.raw(), HrStr::new(key)) };
        Ok(self.present(status, ())?.is_some())
    }

    fn artifacts(self) -> Option<&'static ArtifactTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        unsafe { self.extension(ARTIFACTS).cast::<ArtifactTable>().as_ref() }
    }

    /// The run directory.
    pub fn run_dir(self) -> Option<std::path::PathBuf> {
        let table = self.artifacts()?;
        // SAFETY: the text is lent for the run and copied here.
        let dir = unsafe { (table.run_dir)(self.raw()).to_lossy() };
        (!dir.is_empty()).then(|| dir.into_owned().into())
    }

    /// Writes tensors to a file of the run directory.
    pub fn save_tensors(self, file: &str, names: &[String], tensors: &[HrTensor]) -> Result<()> {
        let Some(table) = self.artifacts() else {
            crate::bail!("this host is older than `{ARTIFACTS}`: it keeps no files for hooks");
        };
        crate::ensure!(
            names.len() == tensors.len(),
            "{} names for {} tensors",
            names.len(),
            tensors.len()
        );
        let lent: Vec<_> = names.iter().map(|name| HrStr::new(name)).collect();
        // SAFETY: file, names and handles are lent until the call returns.
        self.check(unsafe {
            (table.save_tensors)(
                self.raw(),
                HrStr::new(file),
                lent.as_ptr(),
                tensors.as_ptr(),
                lent.len(),
            )
        })
    }
}
