//! A host without libtorch, for tests of plugins: tensors are vectors, and a few operators are loops.
//!
//! A plugin is called through its tables, as the real host does it. Everything is leaked: a test is short, and a
//! plugin may keep its handle.

#![expect(
    unsafe_code,
    reason = "it stands on the host's side of the boundary; every block says why it is sound"
)]

mod arena;
mod live;
mod ops;
mod saved;
mod services;
mod tensors;

pub use arena::Data;
pub use live::Live;
pub use saved::Saved;

use arena::Arena;
use hookrack_plugin_api::abi::{
    HrProgress, HrStatus, HrStr, HrTensor, LIST_BUFFERS, LIST_GRADS, LIST_PARAMS, TrainerHandle,
};
use hookrack_plugin_api::{Outcome, Value};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;

/// What a plugin left in a file: names and numbers.
pub type File = Vec<(String, Data)>;

/// A host with whatever a test puts into it. One instance of a hook or metric lives in it.
pub struct FakeHost {
    pub(crate) world: &'static World,
    pub(crate) handle: &'static TrainerHandle,
}

/// What the plugin's calls reach.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) progress: Cell<HrProgress>,
    pub(crate) arena: RefCell<Arena>,
    pub(crate) lists: RefCell<[Vec<HrTensor>; 3]>,
    pub(crate) names: RefCell<[Vec<String>; 3]>,
    pub(crate) slots: RefCell<BTreeMap<u32, HrTensor>>,
    pub(crate) scalars: RefCell<Vec<(String, f64)>>,
    pub(crate) states: RefCell<BTreeMap<String, Value>>,
    pub(crate) files: RefCell<BTreeMap<String, File>>,
    error: RefCell<String>,
    refusal: RefCell<String>,
}

impl World {
    /// The world behind a handle.
    ///
    /// # Safety
    /// `host` is the pointer of a handle that [`services::handle`] made.
    pub(crate) unsafe fn of<'a>(host: *mut c_void) -> &'a Self {
        // SAFETY: such a pointer leads to a world that was leaked.
        unsafe { &*host.cast::<Self>() }
    }

    /// Turns a result into a status; the reason waits for `last_error`.
    pub(crate) fn answer(&self, result: Result<(), String>) -> HrStatus {
        match result {
            Ok(()) => HrStatus::OK,
            Err(why) => {
                *self.refusal.borrow_mut() = why;
                HrStatus::ERROR
            }
        }
    }

    pub(crate) fn last_error(&self) -> HrStr {
        HrStr::new(&self.refusal.borrow())
    }

    pub(crate) fn set_error(&self, why: &str) {
        why.clone_into(&mut self.error.borrow_mut());
    }

    /// A plugin's status as a result, with what it said.
    pub(crate) fn check(&self, status: HrStatus) -> Result<(), String> {
        let said = std::mem::take(&mut *self.error.borrow_mut());
        if status == HrStatus::OK { Ok(()) } else { Err(said) }
    }
}

impl FakeHost {
    /// A host for an instance of this name.
    pub fn new(instance: &'static str) -> Self {
        let world: &'static World = Box::leak(Box::default());
        Self { world, handle: services::handle(world, instance) }
    }

    fn list(&self, list: u32, name: &str, data: Option<Data>) {
        let id = data.map_or(HrTensor::NONE, |data| self.world.arena.borrow_mut().add(data));
        self.world.lists.borrow_mut()[list as usize].push(id);
        self.world.names.borrow_mut()[list as usize].push(name.to_owned());
    }

    /// Gives the model a parameter, with a gradient or without.
    pub fn param(&self, name: &str, value: Data, gradient: Option<Data>) {
        self.list(LIST_PARAMS, name, Some(value));
        self.list(LIST_GRADS, name, gradient);
    }

    /// Gives the model a buffer.
    pub fn buffer(&self, name: &str, value: Data) {
        self.list(LIST_BUFFERS, name, Some(value));
    }

    /// Puts a tensor into a `SLOT_*`.
    pub fn slot(&self, slot: u32, value: Data) {
        let id = self.world.arena.borrow_mut().add(value);
        self.world.slots.borrow_mut().insert(slot, id);
    }

    /// A parameter's contents.
    pub fn param_at(&self, index: usize) -> Data {
        let id = self.world.lists.borrow()[LIST_PARAMS as usize][index];
        self.world.arena.borrow().data(id)
    }

    /// Changes a parameter's contents, as an optimizer does.
    pub fn set_param(&self, index: usize, value: Data) {
        let id = self.world.lists.borrow()[LIST_PARAMS as usize][index];
        self.world.arena.borrow_mut().set(id, value);
    }

    /// Says where the run is.
    pub fn at(&self, epoch: u64, iter: u64) {
        self.world.progress.set(HrProgress { epoch, iter, ..self.world.progress.get() });
    }

    /// Says how the run ended.
    pub fn ended(&self, outcome: Outcome) {
        self.world
            .progress
            .set(HrProgress { outcome: outcome.code(), ..self.world.progress.get() });
    }

    /// The last value of a scalar, by the name under which it was put.
    pub fn scalar(&self, name: &str) -> Option<f64> {
        self.world.scalars.borrow().iter().find(|(n, _)| n == name).map(|(_, value)| *value)
    }

    /// A shared value.
    pub fn state(&self, key: &str) -> Option<Value> {
        self.world.states.borrow().get(key).cloned()
    }

    /// Shares a value, as another hook does.
    pub fn put_state(&self, key: &str, value: impl Into<Value>) {
        self.world.states.borrow_mut().insert(key.to_owned(), value.into());
    }

    /// A file that the plugin left in the run directory.
    pub fn file(&self, name: &str) -> Option<File> {
        self.world.files.borrow().get(name).cloned()
    }

    /// How many tensors are alive: a plugin that keeps none for itself leaves as many as it found.
    pub fn tensors_alive(&self) -> usize {
        self.world.arena.borrow().len()
    }
}
