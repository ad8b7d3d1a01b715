//! A `tracing` subscriber that forwards this library's events to the host's log.

use crate::abi::{LOG_DEBUG, LOG_ERROR, LOG_INFO, LOG_TRACE, LOG_WARN};
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Dispatch, Event, Level, Metadata, Subscriber};

/// Installs the bridge, unless the plugin has installed a subscriber of its own.
pub(crate) fn install() {
    let _ = tracing_core::dispatcher::set_global_default(Dispatch::new(Bridge::default()));
}

#[derive(Default)]
struct Bridge {
    spans: AtomicU64,
}

fn level_of(metadata: &Metadata<'_>) -> u32 {
    match *metadata.level() {
        Level::ERROR => LOG_ERROR,
        Level::WARN => LOG_WARN,
        Level::INFO => LOG_INFO,
        Level::DEBUG => LOG_DEBUG,
        Level::TRACE => LOG_TRACE,
    }
}

impl Subscriber for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        crate::log::enabled(level_of(metadata))
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let metadata = event.metadata();
        crate::log::write(level_of(metadata), metadata.target(), line.0.trim_start());
    }

    // Spans are not carried over: a line says where it comes from by its target.
    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed) + 1)
    }
    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

/// An event as one line: its message, then its fields.
#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = if field.name() == "message" {
            write!(self.0, " {value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }
}
