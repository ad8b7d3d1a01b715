//! A run that logs in every iteration for a long time: the time of an iteration, and the memory of the process.

use super::curve::Curve;
use crate::error::BenchError;
use crate::measured_hooks::job;
use hookrack::hooks::CallbackHook;
use hookrack::train::{Ending, Interrupt, Parts, Trainer};
use hookrack::writers::{MetricsJson, Writers};
use hookrack_plugin_api::Point;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;
use tempfile::TempDir;

/// At an iteration: when that was, and the megabytes of the process.
type Marks = Rc<RefCell<Vec<(u64, Instant, f64)>>>;

/// Microseconds of an iteration, and megabytes, up to `iters`.
pub(super) fn measure(iters: u64) -> Result<Vec<Curve>, BenchError> {
    let longest = format!("train.max_iters={iters}");
    let mut job = job(&[
        &longest,
        "model.hidden=[1]",
        "data.train.shape=[1]",
        "data.train.samples=1000",
        "train.batch_size=1",
        "default_hooks.logger={interval=1}",
    ])?;
    let marks = Marks::default();
    let seen = Rc::clone(&marks);
    let clock = CallbackHook::new("clock").at(Point::AfterTrainIter, move |t| {
        let iter = t.iter();
        // Both ends of the last tenth before each power of ten.
        let power = 10_u64.pow(iter.max(1).ilog10());
        if iter >= 1000 && (iter == power || iter == 9 * power) {
            seen.borrow_mut().push((iter, Instant::now(), megabytes()));
        }
        Ok(())
    });
    job.add(clock)?;
    let folder = TempDir::new().map_err(BenchError::file("a temporary folder"))?;
    let mut writers = Writers::default();
    writers.add(MetricsJson::open(&folder.path().join("metrics.json"))?);
    let parts = Parts::build(&job.config)?;
    let mut trainer = Trainer::assemble(parts, &job, writers, None, Interrupt::default())?;
    match trainer.fit() {
        Ending::Completed => {}
        other => return Err(BenchError::Ending(other.describe().1)),
    }
    Ok(curves(&marks.borrow()))
}

#[expect(clippy::cast_precision_loss, reason = "iterations of a bench")]
fn curves(marks: &[(u64, Instant, f64)]) -> Vec<Curve> {
    let (mut times, mut memory) = (Vec::new(), Vec::new());
    for pair in marks.windows(2) {
        let [(from, began, _), (to, ended, megabytes)] = pair else { continue };
        if from * 10 == to * 9 {
            let micros = ended.duration_since(*began).as_secs_f64() * 1e6;
            times.push((*to as f64, micros / (to - from) as f64));
            memory.push((*to as f64, *megabytes));
        }
    }
    let curve = |file, title, unit, points, note: &str| Curve {
        file,
        title,
        what: "iterations",
        unit,
        series: vec![("a run that logs in every iteration".to_owned(), points)],
        note: note.to_owned(),
    };
    vec![
        curve(
            "metrics",
            "An iteration with a line of metrics.json",
            "µs",
            times,
            "The last tenth of the iterations so far.",
        ),
        curve(
            "memory",
            "Memory of a long run",
            "MB",
            memory,
            "A series keeps only the values since the last write and those of its median window.",
        ),
    ]
}

/// The resident memory of this process.
fn megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}
