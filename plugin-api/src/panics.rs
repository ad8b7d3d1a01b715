//! The message and location of a panic, for the host's error message.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records this library's panics instead of printing them. A library has its own copy of the standard library, so this
/// changes nothing for the host or for other plugins.
pub fn note_instead_of_print() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            LAST.with_borrow_mut(|last| *last = Some(place));
        }));
    });
}

/// The message of a panic, and its location if it is known.
pub fn describe(payload: &(dyn Any + Send)) -> String {
    let words = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic without a message");
    match LAST.with_borrow_mut(Option::take) {
        Some(place) => format!("panicked at {place}: {words}"),
        None => format!("panicked: {words}"),
    }
}
