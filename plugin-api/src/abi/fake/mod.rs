//! A fake host in plain Rust behind the tables of the ABI: the part of [`crate::testing`] with raw pointers.

mod extensions;
mod gradients;
mod instance;
mod layers;
mod named;
mod noted;
mod params;
mod tables;
mod tensors;

pub(crate) use instance::{HookInstance, MetricInstance};

use super::{
    HrHeader, HrStatus, HrStr, HrTensor, LOG_TRACE, REQUEST_SAVE, REQUEST_STOP, REQUEST_VALIDATE,
    TrainerHandle,
};
use crate::error::{Error, Result};
use crate::point::Point;
use crate::testing::rules::{Parts, Rules};
use crate::testing::world::{LogLine, Shared, World};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

thread_local! {
    static CALLING: Cell<Option<&'static Caller>> = const { Cell::new(None) };
}

/// Receives the calls of one instance. It lives as long as the process, because a hook may keep its handle.
pub(crate) struct Caller {
    pub(crate) name: String,
    // The newest minor version whose extensions are offered.
    minor: u16,
    // Gone once the fake trainer is.
    world: RefCell<Option<Shared>>,
    rules: Rules,
    point: Cell<Option<Point>>,
    // An instance that panicked is not called again.
    has_panicked: Cell<bool>,
    scopes: RefCell<Vec<String>>,
    // What the hook said about its failure, and what it was last refused.
    error: RefCell<String>,
    refusal: RefCell<String>,
}

impl Caller {
    /// A caller and its handle.
    pub(crate) fn open(
        name: &str,
        minor: u16,
        world: &Shared,
        rules: Rules,
    ) -> (&'static Self, &'static TrainerHandle) {
        let caller: &Self = Box::leak(Box::new(Self {
            name: name.to_owned(),
            minor,
            world: RefCell::new(Some(Rc::clone(world))),
            rules,
            point: Cell::new(None),
            has_panicked: Cell::new(false),
            scopes: RefCell::default(),
            error: RefCell::default(),
            refusal: RefCell::default(),
        }));
        let handle = TrainerHandle {
            header: HrHeader { abi_minor: minor, ..HrHeader::of::<TrainerHandle>(0) },
            host: std::ptr::from_ref(caller).cast_mut().cast(),
            progress: Rc::into_raw(Rc::clone(&world.borrow().progress)).cast(),
            instance: HrStr::new(&caller.name),
            log_level: &LOG_TRACE,
            tensors: &raw const tensors::TABLE,
            engine: &raw const tables::engine::TABLE,
            events: &raw const tables::events::TABLE,
            states: &raw const tables::states::TABLE,
            extension: extensions::extension,
            log,
            set_error,
            last_error,
            request,
            failure,
        };
        (caller, Box::leak(Box::new(handle)))
    }

    /// A caller for the test itself, which calls as a hook would.
    pub(crate) fn connect(name: &str, minor: u16, world: &Shared) -> (&'static Self, super::Host) {
        let (caller, handle) = Self::open(name, minor, world, Rules::TEST);
        // SAFETY: the handle was made just now and lives as long as the process.
        (caller, unsafe { super::Host::from_raw(handle) })
    }

    /// Releases the world.
    pub(crate) fn close(&self) {
        self.world.borrow_mut().take();
    }

    /// # Safety
    /// `host` is the pointer of a handle that `open` made.
    unsafe fn of<'a>(host: *mut c_void) -> &'a Self {
        // SAFETY: such a pointer leads to a caller that was leaked.
        unsafe { &*host.cast::<Self>() }
    }

    /// Calls the instance; a status that is not OK becomes an error with the hook's message.
    fn calls(&'static self, point: Option<Point>, body: impl FnOnce() -> HrStatus) -> Result<()> {
        self.error.borrow_mut().clear();
        self.refusal.borrow_mut().clear();
        let before = (CALLING.replace(Some(self)), self.point.replace(point));
        let status = body();
        CALLING.set(before.0);
        self.point.set(before.1);
        if status == HrStatus::OK {
            return Ok(());
        }
        self.has_panicked.set(status == HrStatus::PANIC || self.has_panicked.get());
        let said = [&self.error, &self.refusal].map(|text| text.borrow().clone());
        let said = said.into_iter().find(|text| !text.is_empty());
        Err(Error::new(said.unwrap_or_else(|| "it gave no reason".into())))
    }

    /// Rejects a change of a part of the run that the hook does not declare. `by` names the call.
    fn check_declared(&self, part: Parts, by: impl FnOnce() -> String) -> Result<()> {
        self.rules.check_declared(self.point.get(), part, by)
    }

    /// Rejects a function of the engine, unless the hook has a role or declares one of `parts`.
    fn check_engine(&self, function: &str, parts: Parts) -> Result<()> {
        self.rules.check_engine(self.point.get(), function, parts)
    }

    fn world(&self) -> Result<Shared> {
        let world = self.world.borrow().clone();
        world.ok_or_else(|| Error::new("the fake trainer no longer exists"))
    }

    /// Serves a call of a hook. A panic, such as that of a function of the test, must not leave a C function.
    fn answer<T>(&self, body: impl FnOnce(&mut World, &Self) -> Result<T>) -> Result<T, HrStatus> {
        self.answer_free(|| {
            let world = self.world()?;
            let mut world = world.try_borrow_mut().map_err(|_| {
                Error::new("a function of the test calls back into the fake trainer")
            })?;
            body(&mut world, self)
        })
    }

    /// As `answer`, with nothing borrowed: for calls that call other hooks.
    fn answer_free<T>(&self, body: impl FnOnce() -> Result<T>) -> Result<T, HrStatus> {
        let said = match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error.to_string(),
            Err(payload) => crate::panics::describe(payload.as_ref()),
        };
        *self.refusal.borrow_mut() = said;
        Err(HrStatus::ERROR)
    }

    /// A scalar's full name.
    fn full_name(&self, world: &World, name: &str) -> String {
        let scopes = self.scopes.borrow();
        let scope = scopes.iter().fold(String::new(), |all, scope| all + scope + "/");
        match name.strip_prefix('@') {
            Some(own) => format!("hook/{}/{scope}{own}", self.name),
            None if name.contains('/') => name.to_owned(),
            None => format!("{}/{scope}{name}", world.phase().name()),
        }
    }
}

/// An argument as it arrives: a plain number, or a text that is borrowed until the call returns.
trait WireArg {
    type Raw;
    /// # Safety
    /// A text must be readable.
    unsafe fn take(raw: Self::Raw) -> Self;
}

macro_rules! plain {
    ($($({$t:ident})? $ty:ty),*) => { $(impl$(<$t>)? WireArg for $ty {
        type Raw = Self;
        unsafe fn take(raw: Self) -> Self { raw }
    })* };
}
plain!(u32, u64, i64, usize, f64, HrTensor, super::HrOp, {T} *const T, {T} *mut T);

impl WireArg for String {
    type Raw = HrStr;
    unsafe fn take(raw: HrStr) -> Self {
        // SAFETY: the caller vouches for the text.
        unsafe { raw.to_lossy() }.into_owned()
    }
}

/// What a hook lends.
///
/// # Safety
/// There are as many values as `len`, and they stay until the call returns.
unsafe fn lent<'a, T>(first: *const T, len: usize) -> &'a [T] {
    // SAFETY: by the contract.
    if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(first, len) } }
}

/// The texts that a hook lends, lossy where they are not UTF-8.
///
/// # Safety
/// As for [`lent`].
unsafe fn texts(first: *const HrStr, len: usize) -> Vec<String> {
    // SAFETY: by the contract.
    unsafe { lent(first, len).iter().map(|text| text.to_lossy().into_owned()).collect() }
}

/// How the kinds of C functions end: each returns the status of an answer, and writes what was found to the places that
/// the hook gives for it.
mod end {
    use super::HrStatus;

    type Answer<T> = Result<T, HrStatus>;

    pub(super) fn call(answer: Answer<()>) -> HrStatus {
        answer.map_or_else(|status| status, |()| HrStatus::OK)
    }

    pub(super) fn has(answer: Answer<bool>) -> HrStatus {
        answer.map_or_else(|status| status, |is| if is { HrStatus::OK } else { HrStatus::ABSENT })
    }

    pub(super) unsafe fn read<T>(answer: Answer<T>, out: *mut T) -> HrStatus {
        // SAFETY: a hook gives a place for one value.
        call(answer.map(|value| unsafe { out.write(value) }))
    }

    pub(super) unsafe fn find<T>(answer: Answer<Option<T>>, out: *mut T) -> HrStatus {
        // SAFETY: as for `read`.
        has(answer.map(|found| found.map(|value| unsafe { out.write(value) }).is_some()))
    }

    /// Writes as many values as there is room for, and says how many there are.
    pub(super) unsafe fn list<T>(
        answer: Answer<Vec<T>>,
        out: *mut T,
        capacity: usize,
        count: *mut usize,
    ) -> HrStatus {
        call(answer.map(|values| {
            // SAFETY: a hook gives a place for one number, and a row of `capacity` places.
            unsafe { count.write(values.len()) };
            for (place, value) in values.into_iter().take(capacity).enumerate() {
                // SAFETY: as above.
                unsafe { out.add(place).write(value) };
            }
        }))
    }
}

/// The C functions of a table. `call` returns only a status, `has` one that may be ABSENT; `read` also writes a value,
/// `find` writes one or returns ABSENT, `list` writes a row. The body receives the world and the caller.
macro_rules! functions {
    ($($kind:ident $function:ident($world:pat, $caller:pat $(, $arg:ident: $ty:ty)*) $(-> $out:ty)? $body:block)*) => {
        $($crate::abi::fake::functions!(@$kind $function($world, $caller $(, $arg: $ty)*) $(-> $out)? $body);)*
    };
    (@call $function:ident $args:tt $body:block) => {
        $crate::abi::fake::functions!(@define call $function $args () $body);
    };
    (@has $function:ident $args:tt $body:block) => {
        $crate::abi::fake::functions!(@define has $function $args () $body);
    };
    (@read $function:ident $args:tt -> $out:ty $body:block) => {
        $crate::abi::fake::functions!(@define read $function $args (out: *mut $out) $body);
    };
    (@find $function:ident $args:tt -> $out:ty $body:block) => {
        $crate::abi::fake::functions!(@define find $function $args (out: *mut $out) $body);
    };
    (@list $function:ident $args:tt -> $out:ty $body:block) => {
        $crate::abi::fake::functions!(
            @define list $function $args (out: *mut $out, capacity: usize, count: *mut usize) $body
        );
    };
    (@define $kind:ident $function:ident($world:pat, $caller:pat $(, $arg:ident: $ty:ty)*)
        ($($place:ident: $place_ty:ty),*) $body:block
    ) => {
        pub(in crate::abi::fake) unsafe extern "C" fn $function(
            host: *mut std::ffi::c_void
            $(, $arg: <$ty as $crate::abi::fake::WireArg>::Raw)* $(, $place: $place_ty)*
        ) -> $crate::abi::HrStatus {
            // SAFETY: a hook calls with the pointer of its handle, and lends texts until this returns.
            let (caller, $($arg,)*) = unsafe {
                ($crate::abi::fake::Caller::of(host), $(<$ty as $crate::abi::fake::WireArg>::take($arg),)*)
            };
            let answer = caller.answer(|$world, $caller| -> $crate::error::Result<_> { $body });
            #[allow(unused_unsafe, clippy::allow_attributes, reason = "a kind without places is safe")]
            // SAFETY: a hook gives the places.
            unsafe { $crate::abi::fake::end::$kind(answer $(, $place)*) }
        }
    };
}
use functions;

/// A table made of the functions of the same names.
macro_rules! table {
    ($table:ident { $($function:ident),* }) => {
        pub(in crate::abi::fake) static TABLE: $crate::abi::$table = $crate::abi::$table {
            header: $crate::abi::HrHeader::of::<$crate::abi::$table>(0),
            $($function),*
        };
    };
}
use table;

unsafe extern "C" fn log(host: *mut c_void, level: u32, _target: HrStr, message: HrStr) {
    // SAFETY: a hook calls with the pointer of its handle, and lends the text until this returns.
    let message = unsafe { message.to_lossy() }.into_owned();
    // Only the thread of the test has a trainer; a line of another thread is nobody's.
    let Some(caller) = CALLING.get() else { return };
    let _ = host;
    let _ = caller.answer(|world, caller| {
        world.logs.push(LogLine { level, hook: caller.name.clone(), message });
        Ok(())
    });
}

unsafe extern "C" fn set_error(host: *mut c_void, message: HrStr) {
    // SAFETY: a hook calls with the pointer of its handle, and lends the text until this returns.
    let (caller, message) = unsafe { (Caller::of(host), message.to_lossy()) };
    message.as_ref().clone_into(&mut caller.error.borrow_mut());
}

unsafe extern "C" fn last_error(host: *mut c_void) -> HrStr {
    // SAFETY: a hook calls with the pointer of its handle.
    HrStr::new(&unsafe { Caller::of(host) }.refusal.borrow())
}

functions! {
    call request(world, _, what: u32, why: String) {
        match what {
            REQUEST_STOP => {
                world.stop.get_or_insert(why);
            }
            REQUEST_VALIDATE => world.wants_validation = true,
            REQUEST_SAVE => world.wants_checkpoint = true,
            _ => crate::bail!("unknown request {what}"),
        }
        Ok(())
    }
}

unsafe extern "C" fn failure(host: *mut c_void) -> HrStr {
    // SAFETY: a hook calls with the pointer of its handle.
    let caller = unsafe { Caller::of(host) };
    // The text changes between points alone.
    caller.answer(|world, _| Ok(HrStr::new(&world.failure))).unwrap_or(HrStr::EMPTY)
}
