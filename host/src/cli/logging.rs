//! Log lines: warnings to standard error, as text or as JSON, information to the run's `log.txt`.

use crate::writers::StderrAbove;
use serde_json::{Map, Value as Json};
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{self, FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// A log file that is named once the run directory is known; lines before that go to standard error alone.
#[derive(Clone, Default)]
pub(super) struct LogFile(Arc<Mutex<Option<File>>>);

impl LogFile {
    /// Appends lines to this file from now on.
    pub(super) fn open(&self, path: &Path) -> io::Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        Ok(())
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(file) => file.write_all(bytes).map(|()| bytes.len()),
            None => Ok(bytes.len()),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A log line for a program: one JSON object.
struct JsonLine;

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let about = event.metadata();
        let mut line = Fields(Map::new());
        line.0.insert("level".into(), about.level().as_str().to_lowercase().into());
        line.0.insert("target".into(), about.target().into());
        event.record(&mut line);
        writeln!(writer, "{}", Json::Object(line.0))
    }
}

/// The fields of a log line.
struct Fields(Map<String, Json>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

/// Starts logging; `verbose` is how often `-v` was given, `json` whether standard error is for a program.
pub(super) fn start(verbose: u8, json: bool) -> LogFile {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let file = LogFile::default();
    let to_stderr = fmt::layer()
        .with_writer(StderrAbove::default)
        .with_ansi(super::color::on_stderr())
        .without_time()
        .with_target(verbose > 0);
    let to_stderr = if json { to_stderr.event_format(JsonLine).boxed() } else { to_stderr.boxed() };
    let to_file = fmt::layer().with_writer(file.clone()).with_ansi(false);
    // Log lines of plugins are shown to the user who configured them.
    let shown =
        Targets::new().with_default(level).with_target("plugin", level.max(LevelFilter::INFO));
    tracing_subscriber::registry()
        .with(to_stderr.with_filter(shown))
        .with(to_file.with_filter(level.max(LevelFilter::INFO)))
        .init();
    file
}
