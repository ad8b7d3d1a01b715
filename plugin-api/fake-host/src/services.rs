//! The trainer handle and its tables, apart from tensors.

use crate::{World, tensors};
use hookrack_plugin_api::Value;
use hookrack_plugin_api::abi::{
    ARTIFACTS, ArtifactTable, EngineTable, EventTable, HrHeader, HrStatus, HrStr, HrTensor,
    HrValue, StateTable, TrainerHandle, WireTree,
};
use std::ffi::c_void;

/// A handle for an instance; it lives as long as the process.
pub(crate) fn handle(world: &'static World, instance: &'static str) -> &'static TrainerHandle {
    Box::leak(Box::new(TrainerHandle {
        header: HrHeader::of::<TrainerHandle>(0),
        host: std::ptr::from_ref(world).cast_mut().cast(),
        progress: world.progress.as_ptr(),
        instance: HrStr::new(instance),
        log_level: &0,
        tensors: &raw const tensors::TABLE,
        engine: &raw const ENGINE,
        events: &raw const EVENTS,
        states: &raw const STATES,
        extension,
        log,
        set_error,
        last_error,
        request,
        failure,
    }))
}

static EVENTS: EventTable = EventTable {
    header: HrHeader::of::<EventTable>(0),
    key,
    put,
    latest,
    median,
    write: refuse,
    metric,
};

static STATES: StateTable = StateTable {
    header: HrHeader::of::<StateTable>(0),
    put: put_state,
    value: state,
    remove: remove_state,
};

static ENGINE: EngineTable = EngineTable {
    header: HrHeader::of::<EngineTable>(0),
    forward: refuse,
    model,
    criterion: refuse,
    backward: refuse,
    optimizer_step: refuse,
    lr_step: refuse,
    group_count,
    lr,
    set_lr,
};

static FILES: ArtifactTable =
    ArtifactTable { header: HrHeader::of::<ArtifactTable>(0), run_dir, save_tensors };

/// A tree that the plugin may read for as long as it likes.
pub(crate) fn lend(value: Option<&Value>) -> *const HrValue {
    value.map_or(std::ptr::null(), |value| {
        let value: &'static Value = Box::leak(Box::new(value.clone()));
        Box::leak(Box::new(WireTree::new(value))).as_ptr()
    })
}

unsafe extern "C" fn refuse(host: *mut c_void) -> HrStatus {
    // SAFETY: the handle is ours.
    unsafe { World::of(host) }.answer(Err("the fake host has no engine and no writers".to_owned()))
}

unsafe extern "C" fn model(host: *mut c_void, _input: HrTensor, _out: *mut HrTensor) -> HrStatus {
    // SAFETY: the handle is ours.
    unsafe { refuse(host) }
}

unsafe extern "C" fn group_count(_host: *mut c_void) -> usize {
    0
}

unsafe extern "C" fn lr(host: *mut c_void, _group: usize, _out: *mut f64) -> HrStatus {
    // SAFETY: the handle is ours.
    unsafe { refuse(host) }
}

unsafe extern "C" fn set_lr(host: *mut c_void, _group: usize, _lr: f64) -> HrStatus {
    // SAFETY: the handle is ours.
    unsafe { refuse(host) }
}

unsafe extern "C" fn key(host: *mut c_void, name: HrStr, _smooth: u32, out: *mut u32) -> HrStatus {
    // SAFETY: the handle is ours; the caller lends the name and gives a place for one number.
    let (world, name) = unsafe { (World::of(host), name.to_lossy().into_owned()) };
    let mut scalars = world.scalars.borrow_mut();
    let place = scalars.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        scalars.push((name, f64::NAN));
        scalars.len() - 1
    });
    // SAFETY: as above.
    unsafe { out.write(u32::try_from(place).unwrap_or(u32::MAX)) };
    HrStatus::OK
}

unsafe extern "C" fn put(host: *mut c_void, key: u32, value: f64) -> HrStatus {
    // SAFETY: the handle is ours.
    let world = unsafe { World::of(host) };
    let mut scalars = world.scalars.borrow_mut();
    let place = scalars.get_mut(key as usize).ok_or_else(|| format!("there is no scalar {key}"));
    world.answer(place.map(|(_, last)| *last = value))
}

unsafe extern "C" fn latest(_host: *mut c_void, _key: u32, _out: *mut f64) -> HrStatus {
    HrStatus::ABSENT
}

unsafe extern "C" fn median(
    _host: *mut c_void,
    _key: u32,
    _window: usize,
    _out: *mut f64,
) -> HrStatus {
    HrStatus::ABSENT
}

unsafe extern "C" fn metric(
    _host: *mut c_void,
    _phase: u32,
    _name: HrStr,
    _which: u32,
    _out: *mut f64,
) -> HrStatus {
    HrStatus::ABSENT
}

unsafe extern "C" fn put_state(host: *mut c_void, key: HrStr, value: *const HrValue) -> HrStatus {
    // SAFETY: the handle is ours; the caller lends key and tree until this returns.
    let (world, key, value) =
        unsafe { (World::of(host), key.to_lossy().into_owned(), (*value).to_value()) };
    let value = value.ok_or_else(|| format!("`{key}` is no value"));
    world.answer(value.map(|value| drop(world.states.borrow_mut().insert(key, value))))
}

unsafe extern "C" fn state(host: *mut c_void, key: HrStr) -> *const HrValue {
    // SAFETY: the handle is ours; the caller lends the key until this returns.
    let (world, key) = unsafe { (World::of(host), key.to_lossy()) };
    lend(world.states.borrow().get(key.as_ref()))
}

unsafe extern "C" fn remove_state(host: *mut c_void, key: HrStr) -> HrStatus {
    // SAFETY: the handle is ours; the caller lends the key until this returns.
    let (world, key) = unsafe { (World::of(host), key.to_lossy()) };
    if world.states.borrow_mut().remove(key.as_ref()).is_some() {
        HrStatus::OK
    } else {
        HrStatus::ABSENT
    }
}

unsafe extern "C" fn extension(_host: *mut c_void, id: HrStr) -> *const c_void {
    // SAFETY: the caller lends the id until this returns.
    if unsafe { id.to_lossy() } == ARTIFACTS { (&raw const FILES).cast() } else { std::ptr::null() }
}

unsafe extern "C" fn log(_host: *mut c_void, _level: u32, _target: HrStr, _message: HrStr) {}

unsafe extern "C" fn set_error(host: *mut c_void, message: HrStr) {
    // SAFETY: the handle is ours; the caller lends the text until this returns.
    unsafe { World::of(host).set_error(&message.to_lossy()) }
}

unsafe extern "C" fn last_error(host: *mut c_void) -> HrStr {
    // SAFETY: the handle is ours.
    unsafe { World::of(host) }.last_error()
}

unsafe extern "C" fn request(_host: *mut c_void, _what: u32, _why: HrStr) -> HrStatus {
    HrStatus::OK
}

unsafe extern "C" fn failure(_host: *mut c_void) -> HrStr {
    HrStr::EMPTY
}

unsafe extern "C" fn run_dir(_host: *mut c_void) -> HrStr {
    HrStr::new("run")
}

unsafe extern "C" fn save_tensors(
    host: *mut c_void,
    file: HrStr,
    names: *const HrStr,
    tensors: *const HrTensor,
    count: usize,
) -> HrStatus {
    // SAFETY: the handle is ours; the caller lends the file's name, and `count` names and handles.
    unsafe {
        let world = World::of(host);
        let entry = |i| {
            ((*names.add(i)).to_lossy().into_owned(), world.arena.borrow().data(*tensors.add(i)))
        };
        let entries = (0..count).map(entry).collect();
        world.files.borrow_mut().insert(file.to_lossy().into_owned(), entries);
    }
    HrStatus::OK
}
