//! The endpoint that receives the calls of an instance.

use super::super::boundary;
use super::log_limit::LogLimit;
use super::service::{Answer, Refusal};
use super::{breadcrumb, forked};
use crate::context::{Context, RunParts};
use crate::position::{self, HookNumber};
use crate::torch::autograd;
use hookrack_plugin_api::abi::{HrStatus, HrStr};
use hookrack_plugin_api::{Point, panics};
use std::cell::{Cell, Ref, RefCell};
use std::collections::HashSet;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Once;

thread_local! {
    static CALLING: Cell<Option<&'static Endpoint>> = const { Cell::new(None) };
}

/// A call to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plugins) enum Call {
    /// There is none.
    None,
    /// It is being made, saved, restored or ended.
    Life,
    /// It is being called at a point.
    Point(Point),
}

impl Call {
    fn point(self) -> Option<Point> {
        match self {
            Self::Point(point) => Some(point),
            Self::None | Self::Life => None,
        }
    }
}

/// The caller: an instance, as its config and its manifest describe it.
pub(in crate::plugins) struct Caller<'a> {
    /// The instance's name.
    pub(in crate::plugins) name: &'a str,
    /// The file name of its library, or "built in".
    pub(in crate::plugins) source: &'a str,
    /// What its manifest declares that it changes.
    pub(in crate::plugins) mutates: RunParts,
    /// Whether it is a metric, which never changes anything.
    pub(in crate::plugins) is_metric: bool,
}

/// The rule for calls that no call to a hook has led to.
const OUTSIDE: &str = "calls to the host are only allowed on the training thread, while a hook is being called: other threads \
                       may only log, and must not use tensors";

/// A hook or metric that failed without a message.
pub const NO_REASON: &str = "gave no reason";

/// Where an instance's calls arrive.
pub(in crate::plugins) struct Endpoint {
    /// The instance's name.
    pub(super) name: String,
    /// What its manifest declares that it changes.
    pub(super) mutates: RunParts,
    /// Whether it is a metric.
    pub(super) is_metric: bool,
    // By which other threads know it.
    number: HookNumber,
    // Whether the other ranks do not have this instance.
    pub(super) on_some_ranks: Cell<bool>,
    // The call to the instance that is under way.
    call: Cell<Call>,
    // The start of each scope that it has entered, and all of them as a prefix: `head/first/`.
    scopes: RefCell<(Vec<usize>, String)>,
    // Whether gradients were recorded before the call under way changed that; `None` if it has not.
    recorded: Cell<Option<bool>>,
    // The memory that the call under way has borrowed.
    views: RefCell<HashSet<usize>>,
    // How much it logs.
    pub(super) log_limit: LogLimit,
    // Gone once the instance is: a call after that is refused.
    context: RefCell<Option<Rc<Context>>>,
    // Whether the call under way has borrowed memory, changed whether gradients are recorded, or forked.
    pub(super) must_restore: Cell<bool>,
    // Whether there are words in `error` or `refusal`.
    has_words: Cell<bool>,
    // What the plugin said about its failure.
    error: RefCell<String>,
    // The host's error message for a failed call; lent to the plugin until its next call.
    refusal: RefCell<String>,
}

impl Endpoint {
    /// An endpoint for an instance. It lives as long as the process, because a plugin may keep its handle.
    pub(in crate::plugins) fn open(caller: &Caller<'_>, context: &Rc<Context>) -> &'static Self {
        Box::leak(Box::new(Self::new(caller, Some(context.clone()))))
    }

    fn new(caller: &Caller<'_>, context: Option<Rc<Context>>) -> Self {
        let Caller { name, source, mutates, is_metric } = *caller;
        Self {
            name: name.to_owned(),
            mutates,
            is_metric,
            number: position::number(name, source),
            views: RefCell::default(),
            log_limit: LogLimit::default(),
            on_some_ranks: Cell::new(false),
            call: Cell::new(Call::None),
            scopes: RefCell::default(),
            recorded: Cell::new(None),
            context: RefCell::new(context),
            must_restore: Cell::new(false),
            has_words: Cell::new(false),
            error: RefCell::default(),
            refusal: RefCell::default(),
        }
    }

    /// The endpoint behind a handle.
    ///
    /// # Safety
    /// `host` is the pointer of a handle that `handle_for` made.
    pub(in crate::plugins) unsafe fn of<'a>(host: *mut c_void) -> &'a Self {
        // SAFETY: such a pointer leads to an endpoint that was leaked.
        unsafe { &*host.cast::<Self>() }
    }

    /// Makes a call to this endpoint's instance. What it logs meanwhile goes under its name, and what was said in an earlier
    /// call is forgotten.
    #[inline]
    pub(in crate::plugins) fn during<T>(&'static self, call: Call, body: impl FnOnce() -> T) -> T {
        let calling = CALLING.replace(Some(self));
        let outer = self.call.replace(call);
        // A metric is called at a point, and its object within that call.
        let place = position::enter(self.number, call.point().or(outer.point()));
        breadcrumb::clear();
        if self.has_words.replace(false) {
            self.error.borrow_mut().clear();
            self.refusal.borrow_mut().clear();
        }
        let result = boundary::within(body);
        position::leave(place);
        CALLING.set(calling);
        self.call.set(outer);
        if self.must_restore.get() {
            self.restore();
        }
        result
    }

    /// Ends what a call has borrowed or changed for its own duration.
    #[inline(never)]
    fn restore(&self) {
        if forked::is_forked() {
            self.end_fork();
        }
        if !self.is_called() {
            self.views.borrow_mut().clear();
            self.must_restore.set(false);
        }
        if let Some(recorded) = self.recorded.take() {
            autograd::set_recording(recorded);
        }
    }

    /// The endpoint of the instance that this thread is calling.
    pub(in crate::plugins) fn calling() -> Option<&'static Self> {
        CALLING.get()
    }

    /// Whether the instance is being called.
    pub(in crate::plugins) fn is_called(&self) -> bool {
        self.call.get() != Call::None
    }

    /// Notes that the other ranks do not have this instance.
    pub(in crate::plugins) fn stay_on_some_ranks(&self) {
        self.on_some_ranks.set(true);
    }

    /// The point that the instance is being called at.
    pub(super) fn point(&self) -> Option<Point> {
        self.call.get().point()
    }

    /// Notes that the call under way has borrowed memory.
    pub(super) fn note_view(&self, storage: usize) {
        self.must_restore.set(true);
        self.views.borrow_mut().insert(storage);
    }

    /// Whether the call under way has borrowed this memory.
    pub(super) fn has_viewed(&self, storage: usize) -> bool {
        self.views.borrow().contains(&storage)
    }

    /// Sets whether gradients are recorded until the current call returns, and returns the previous mode.
    pub(super) fn set_recording(&self, on: bool) -> bool {
        let was = autograd::set_recording(on);
        self.must_restore.set(true);
        if self.recorded.get().is_none() {
            self.recorded.set(Some(was));
        }
        was
    }

    /// The instance's name.
    pub(in crate::plugins) fn name(&self) -> &str {
        &self.name
    }

    /// The prefix of the names that the instance passes.
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

    /// Leaves the innermost scope; false if there is none.
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

    /// The plugin's message for its last failure, or else the last error that the host returned to it.
    pub(in crate::plugins) fn take_error(&self) -> String {
        let error = std::mem::take(&mut *self.error.borrow_mut());
        let refusal = self.refusal.borrow();
        match (error.is_empty(), refusal.is_empty()) {
            (false, _) => error,
            (true, false) => format!("{refusal} (the hook {NO_REASON})"),
            (true, true) => format!("it {NO_REASON}"),
        }
    }

    /// A status of the plugin's as a result.
    pub(in crate::plugins) fn check(&self, status: HrStatus) -> Result<(), String> {
        if status == HrStatus::OK { Ok(()) } else { Err(self.take_error()) }
    }

    /// Takes the plugin's words about its failure.
    pub(in crate::plugins) fn set_error(&self, message: &str) {
        self.has_words.set(true);
        message.clone_into(&mut self.error.borrow_mut());
    }

    /// The host's words about the last refused call.
    pub(in crate::plugins) fn refusal(&self) -> HrStr {
        if Self::calling().is_none() {
            return HrStr::new(OUTSIDE);
        }
        HrStr::new(&self.refusal.borrow())
    }

    /// Answers a call: an error becomes a status, its text waits for `last_error`.
    pub(super) fn answer<A: Answer>(
        &self,
        body: impl FnOnce(&Context) -> Result<A, Refusal>,
    ) -> HrStatus {
        self.guard(|| {
            let context = self.context.borrow();
            let context =
                context.as_ref().ok_or("the run that this handle belongs to has ended")?;
            body(context).map(Answer::status).map_err(Refusal::into_text)
        })
    }

    /// Answers a call that does not need the run. A panic in the host is returned as an error: it must not leave
    /// a C function.
    pub(in crate::plugins) fn guard(
        &self,
        body: impl FnOnce() -> Result<HrStatus, String>,
    ) -> HrStatus {
        if Self::calling().is_none() {
            return self.refuse_outside();
        }
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(status)) => status,
            Ok(Err(why)) => self.refuse(why),
            Err(payload) => {
                let words = panics::describe(payload.as_ref());
                self.refuse(format!("the host {words}: a bug in hookrack, please report it"))
            }
        }
    }

    /// As [`Self::guard`] on behalf of the instance that is being called, for functions that are not given a handle.
    pub(in crate::plugins) fn guard_calling(
        body: impl FnOnce() -> Result<HrStatus, String>,
    ) -> HrStatus {
        match Self::calling() {
            Some(endpoint) => endpoint.guard(body),
            None => catch_unwind(AssertUnwindSafe(body))
                .map_or(HrStatus::ERROR, |answer| answer.unwrap_or(HrStatus::ERROR)),
        }
    }

    /// Refuses a call from another thread, without touching anything that the training thread may be using.
    #[cold]
    fn refuse_outside(&self) -> HrStatus {
        static TOLD: Once = Once::new();
        TOLD.call_once(|| tracing::warn!("hook `{}`: a call was refused: {OUTSIDE}", self.name));
        HrStatus::ERROR
    }

    fn refuse(&self, why: String) -> HrStatus {
        self.has_words.set(true);
        *self.refusal.borrow_mut() = why;
        HrStatus::ERROR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(name: &str) -> &'static Endpoint {
        let caller = Caller { name, source: "built in", mutates: RunParts::NONE, is_metric: false };
        Box::leak(Box::new(Endpoint::new(&caller, None)))
    }

    #[test]
    fn a_panic_of_the_host_is_the_error_of_the_hook_that_called() {
        let endpoint = endpoint("hook");
        let status = endpoint.during(Call::Life, || endpoint.guard(|| panic!("index 7 of 3")));
        assert_eq!(status, HrStatus::ERROR);
        let said = endpoint.take_error();
        assert!(said.contains("the host panicked") && said.contains("index 7 of 3"), "{said}");
        let status =
            endpoint.during(Call::Life, || Endpoint::guard_calling(|| panic!("in a sink")));
        assert_eq!(status, HrStatus::ERROR);
        assert!(endpoint.take_error().contains("in a sink"));
    }

    #[test]
    fn the_error_of_one_call_does_not_explain_a_failure_of_the_next() {
        let endpoint = endpoint("hook");
        endpoint.during(Call::Life, || endpoint.guard(|| Err("no such tensor".to_owned())));
        assert!(endpoint.take_error().starts_with("no such tensor"));
        endpoint.during(Call::Life, || {});
        assert_eq!(endpoint.take_error(), "it gave no reason");
    }

    #[test]
    fn a_call_outside_of_a_call_to_a_hook_is_refused_with_the_rule() {
        let endpoint = endpoint("hook");
        assert_eq!(endpoint.guard(|| Ok(HrStatus::OK)), HrStatus::ERROR);
        // SAFETY: the text is static.
        assert_eq!(unsafe { endpoint.refusal().to_lossy() }, OUTSIDE);
        endpoint.during(Call::Life, || {
            assert_eq!(endpoint.guard(|| Ok(HrStatus::OK)), HrStatus::OK);
        });
    }

    #[test]
    fn borrowed_memory_is_forgotten_when_the_outermost_call_returns() {
        let endpoint = endpoint("hook");
        endpoint.during(Call::Point(Point::AfterTrainIter), || {
            endpoint.note_view(7);
            endpoint.during(Call::Life, || {});
            assert!(endpoint.has_viewed(7) && !endpoint.has_viewed(8));
            assert!(endpoint.check_moves("aten::resize_", RunParts::NONE, 7).is_err());
        });
        assert!(!endpoint.has_viewed(7));
    }

    #[test]
    fn a_call_within_a_call_speaks_for_itself_and_gives_the_word_back() {
        let (outer, inner) = (endpoint("outer"), endpoint("inner"));
        let calling = || Endpoint::calling().map(Endpoint::name);
        outer.during(Call::Point(Point::OnOptimizerStep), || {
            inner.during(Call::Life, || assert_eq!(calling(), Some("inner")));
            assert_eq!((calling(), outer.point()), (Some("outer"), Some(Point::OnOptimizerStep)));
            assert!(outer.is_called() && !inner.is_called());
        });
        assert_eq!((calling(), outer.is_called()), (None, false));
    }
}
