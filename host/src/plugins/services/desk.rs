//! Where an instance's calls arrive.

use crate::train::Context;
use hookrack_plugin_api::abi::{HrStatus, HrStr};
use std::cell::{Cell, Ref, RefCell};
use std::ffi::c_void;
use std::fmt::Display;
use std::rc::Rc;

thread_local! {
    static CALLING: Cell<Option<&'static Desk>> = const { Cell::new(None) };
}

/// Where an instance's calls arrive.
pub(in crate::plugins) struct Desk {
    /// The instance's name.
    pub(super) name: String,
    /// Whether its manifest says that it mutates.
    pub(super) may_write: bool,
    // Where each scope that it has entered begins, and all of them as they stand before a name: `head/first/`.
    scopes: RefCell<(Vec<usize>, String)>,
    // Gone once the instance is: a call after that is refused.
    context: RefCell<Option<Rc<Context>>>,
    // What the plugin said about its failure.
    error: RefCell<String>,
    // What the host said about a refused call; lent to the plugin until its next call.
    refusal: RefCell<String>,
}

impl Desk {
    /// A desk for an instance. It lives as long as the process, because a plugin may keep its handle.
    pub(in crate::plugins) fn open(
        name: &str,
        may_write: bool,
        context: &Rc<Context>,
    ) -> &'static Self {
        Box::leak(Box::new(Self {
            name: name.to_owned(),
            may_write,
            scopes: RefCell::default(),
            context: RefCell::new(Some(context.clone())),
            error: RefCell::default(),
            refusal: RefCell::default(),
        }))
    }

    /// The desk behind a handle.
    ///
    /// # Safety
    /// `host` is the pointer of a handle that `handle_for` made.
    pub(in crate::plugins) unsafe fn of<'a>(host: *mut c_void) -> &'a Self {
        // SAFETY: such a pointer leads to a desk that was leaked.
        unsafe { &*host.cast::<Self>() }
    }

    /// Notes that this desk's instance is being called.
    #[inline]
    pub(in crate::plugins) fn enter(&'static self) {
        CALLING.set(Some(self));
    }

    /// The desk of the instance that this thread is calling, or called last.
    pub(in crate::plugins) fn calling() -> Option<&'static Self> {
        CALLING.get()
    }

    /// What stands before the names that the instance gives.
    pub(super) fn scope(&self) -> Ref<'_, str> {
        Ref::map(self.scopes.borrow(), |(_, prefix)| prefix.as_str())
    }

    /// Enters a scope of names.
    pub(super) fn enter_scope(&self, name: &str) {
        let (starts, prefix) = &mut *self.scopes.borrow_mut();
        starts.push(prefix.len());
        prefix.push_str(name);
        prefix.push('/');
    }

    /// Leaves the scope that was entered last; false where there is none.
    pub(super) fn leave_scope(&self) -> bool {
        let (starts, prefix) = &mut *self.scopes.borrow_mut();
        let start = starts.pop();
        prefix.truncate(start.unwrap_or(0));
        start.is_some()
    }

    /// Lets go of the run.
    pub(in crate::plugins) fn close(&self) {
        self.context.borrow_mut().take();
    }

    /// What the plugin said about its last failure.
    pub(in crate::plugins) fn take_error(&self) -> String {
        let error = std::mem::take(&mut *self.error.borrow_mut());
        if error.is_empty() { "it gave no reason".to_owned() } else { error }
    }

    /// A status of the plugin's as a result.
    pub(in crate::plugins) fn check(&self, status: HrStatus) -> Result<(), String> {
        if status == HrStatus::OK { Ok(()) } else { Err(self.take_error()) }
    }

    /// Takes the plugin's words about its failure.
    pub(in crate::plugins) fn set_error(&self, message: &str) {
        message.clone_into(&mut self.error.borrow_mut());
    }

    /// The host's words about the last refused call.
    pub(in crate::plugins) fn refusal(&self) -> HrStr {
        HrStr::new(&self.refusal.borrow())
    }

    /// Answers a call: an error becomes a status, its text waits for `last_error`.
    pub(in crate::plugins) fn answer<E: Display>(
        &self,
        body: impl FnOnce(&Context) -> Result<(), E>,
    ) -> HrStatus {
        self.serve(|context| body(context).map(|()| HrStatus::OK))
    }

    /// As [`Self::answer`], where the call may also find nothing.
    pub(in crate::plugins) fn serve<E: Display>(
        &self,
        body: impl FnOnce(&Context) -> Result<HrStatus, E>,
    ) -> HrStatus {
        let context = self.context.borrow();
        let Some(context) = context.as_ref() else {
            return self.refuse("the run that this handle belongs to is over");
        };
        body(context).unwrap_or_else(|error| self.refuse(error))
    }

    fn refuse(&self, why: impl Display) -> HrStatus {
        *self.refusal.borrow_mut() = why.to_string();
        HrStatus::ERROR
    }
}
