//! The report of a crash: one JSON object, and one line.

use super::Prepared;
use super::modules::Frame;
use super::text::Text;
use crate::plugins::services::last_service;
use crate::position;
use std::ffi::c_int;
use std::fmt::Write as _;

/// The source of hooks that are not from a plugin.
const BUILT_IN: &str = "built in";

/// What happened, as far as a handler knows it.
#[derive(Clone, Copy)]
pub(super) struct CrashInfo<'a> {
    /// `SIGSEGV`, or `exit()`.
    pub(super) what: &'static str,
    /// The address that could not be accessed.
    pub(super) address: Option<usize>,
    /// The instruction that did it.
    pub(super) instruction: Option<Frame>,
    /// Whether the training thread did it.
    pub(super) on_training_thread: bool,
    /// The stack, once it is known.
    pub(super) frames: &'a [Frame],
}

/// The library that a crash is attributed to: that of the instruction; if that is not a plugin, the first plugin on the stack, or that of the hook that is being called.
fn culprit(crash: &CrashInfo<'_>) -> Option<&'static str> {
    let plugin = crash.instruction.into_iter().chain(crash.frames.iter().copied());
    let plugin = plugin.into_iter().find(Frame::is_in_plugin);
    let called = position::current().hook.filter(|_| crash.on_training_thread);
    let called = called.map(|hook| hook.source.as_str()).filter(|source| *source != BUILT_IN);
    let instruction = crash.instruction.filter(|frame| frame.module.is_some());
    plugin.as_ref().map(Frame::name).or(called).or(instruction.as_ref().map(Frame::name))
}

/// `SIGSEGV in libfoo.so, FooHook at after_train_iter, iteration 812`.
pub(super) fn line(out: &mut Text<1024>, crash: &CrashInfo<'_>) {
    let position = position::current();
    let _ = out.write_str(crash.what);
    if let Some(library) = culprit(crash) {
        let _ = write!(out, " in {library}");
    }
    if !crash.on_training_thread {
        let _ = out.write_str(", in a thread of its own");
    }
    let is_in_call = position.hook.is_some() || position.point.is_some();
    if is_in_call && !crash.on_training_thread {
        let _ = out.write_str(", during");
    } else if position.hook.is_some() {
        let _ = out.write_str(",");
    }
    if let Some(hook) = position.hook {
        let _ = write!(out, " {}", hook.name);
    }
    if let Some(point) = position.point {
        let _ = write!(out, " at {}", point.name());
    }
    let _ = write!(out, ", iteration {}", position.iter);
}

/// All that is known.
pub(super) fn json(out: &mut Text<16384>, crash: &CrashInfo<'_>) {
    let mut message = Text::<1024>::new();
    line(&mut message, crash);
    let position = position::current();
    let _ = out.write_str("{\n  \"message\": ");
    out.push_json(std::str::from_utf8(message.as_bytes()).unwrap_or(crash.what));
    field(out, "what", crash.what);
    field(out, "library", culprit(crash).unwrap_or_default());
    if let Some(instruction) = crash.instruction {
        number(out, "instruction", format_args!("\"{instruction}\""));
    }
    if let Some(address) = crash.address {
        number(out, "address", format_args!("\"{address:#x}\""));
    }
    number(out, "on_training_thread", format_args!("{}", crash.on_training_thread));
    if let Some(hook) = position.hook {
        field(out, "hook", &hook.name);
        field(out, "hook_library", &hook.source);
    }
    if let Some(point) = position.point {
        field(out, "point", point.name());
    }
    number(out, "iteration", format_args!("{}", position.iter));
    if let Some((table, name)) = last_service() {
        number(out, "last_service", format_args!("\"{table}.{name}\""));
    }
    number(out, "backtrace", format_args!("["));
    for (index, frame) in crash.frames.iter().enumerate() {
        let _ = out.write_str(if index == 0 { "\n    \"" } else { ",\n    \"" });
        out.push_escaped(frame.name());
        let _ = write!(out, "+{:#x}\"", frame.offset);
    }
    let _ = out.write_str("]\n}\n");
}

fn field(out: &mut Text<16384>, key: &str, value: &str) {
    let _ = write!(out, ",\n  \"{key}\": ");
    out.push_json(value);
}

fn number(out: &mut Text<16384>, key: &str, value: std::fmt::Arguments<'_>) {
    let _ = write!(out, ",\n  \"{key}\": {value}");
}

/// Writes the report to its file, from the beginning.
pub(super) fn write(prepared: &Prepared, crash: &CrashInfo<'_>) {
    if prepared.path.is_empty() {
        return;
    }
    let mut text = Text::<16384>::new();
    json(&mut text, crash);
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte.
    let file = unsafe { libc::open(prepared.path.as_ptr(), flags, 0o644) };
    if file >= 0 {
        write_all(file, text.as_bytes());
        // SAFETY: opened above.
        unsafe { libc::close(file) };
    }
}

/// Tells it on standard error.
pub(super) fn say(prepared: &Prepared, crash: &CrashInfo<'_>) {
    let mut text = Text::<1024>::new();
    let _ = text.write_str("\nerror: ");
    line(&mut text, crash);
    write_all(libc::STDERR_FILENO, text.as_bytes());
    if !prepared.path.is_empty() {
        write_all(libc::STDERR_FILENO, b"; details: ");
        write_all(libc::STDERR_FILENO, prepared.path.as_bytes());
    }
    write_all(libc::STDERR_FILENO, b"\n");
}

fn write_all(file: c_int, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the bytes are there until the call returns.
        let count = unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) };
        let Some(count) = usize::try_from(count).ok().filter(|count| *count > 0) else { return };
        bytes = &bytes[count..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_json_with_everything_that_is_known() {
        let frames = [Frame { module: None, offset: 0x11a9 }];
        let crash = CrashInfo {
            what: "SIGSEGV",
            address: Some(0),
            instruction: Some(frames[0]),
            on_training_thread: true,
            frames: &frames,
        };
        let mut text = Text::new();
        json(&mut text, &crash);
        let read: serde_json::Value = serde_json::from_slice(text.as_bytes()).unwrap();
        assert_eq!((&read["what"], &read["address"]), (&"SIGSEGV".into(), &"0x0".into()));
        assert_eq!(read["backtrace"], serde_json::json!(["?+0x11a9"]));
        assert!(read["message"].as_str().unwrap().starts_with("SIGSEGV"), "{read}");
    }
}
