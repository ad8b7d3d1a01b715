//! Checkpoints of ever larger models: how long training waits, when the files are on the disk, and what copies and plain files take.

use super::curve::Curve;
use super::memory::has_room;
use super::parameters::{SIZES, copy, loaded};
use crate::error::BenchError;
use crate::progress::say;
use crate::rounds::median;
use hookrack::hooks::CallbackHook;
use hookrack::run::RunDir;
use hookrack::train::{Ending, Interrupt, Parts, Trainer};
use hookrack::writers::Writers;
use hookrack_plugin_api::{Level, Point, bail};
use std::cell::RefCell;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The iteration whose checkpoint is measured: the memory of the first one is reserved in the iterations before it.
const AT: u64 = 5;

/// Weights, gradients, the copy that is written, and what creating a weight takes for a moment; the state is the weights alone.
const NEEDED: u64 = 16;
const STATE: u64 = 4;

/// A write that takes longer than this has failed.
const PATIENCE: Duration = Duration::from_mins(15);

/// Runs of a size: several where they are short.
fn runs(size: u32) -> usize {
    if size <= 30_000_000 { 5 } else { 1 }
}

/// The milliseconds of one size.
struct Saved {
    wait: f64,
    save: f64,
    copy: f64,
    file: f64,
}

/// Milliseconds of checkpoints with up to `most` parameters, and the bytes per second that follow from them.
pub(super) fn measure(most: u32) -> Result<Vec<Curve>, BenchError> {
    let mut found = Vec::new();
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        if has_room("checkpoints", size, NEEDED) {
            say(&format!("a checkpoint of {size} parameters"));
            match saved(size) {
                Ok(saved) => found.push((size, saved)),
                // The disk may be too small for the largest.
                Err(error) if !found.is_empty() => say(&format!("it is left out: {error}")),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(curves(&found))
}

fn saved(size: u32) -> Result<Saved, BenchError> {
    let folder = TempDir::new().map_err(BenchError::file("a temporary folder"))?;
    let (mut waits, mut saves, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..runs(size) {
        let (wait, save) = trained(size, &folder.path().join(run.to_string()))?;
        waits.push(wait);
        saves.push(save);
        files.push(plain_file(&folder.path().join("file"), u64::from(size) * STATE)?);
    }
    let [wait, save, file] = [waits, saves, files].map(|times| median(&times));
    Ok(Saved { wait, save, copy: copy(size)?, file })
}

/// Milliseconds that training waits for a checkpoint, and those until it is complete on the disk.
fn trained(size: u32, path: &Path) -> Result<(f64, f64), BenchError> {
    let iters = format!("train.max_iters={}", AT + 1);
    let saver = format!(
        "default_hooks.checkpoint={{iter_period={AT}, epoch_period=0, max_num_checkpoints=1}}"
    );
    let mut job = loaded(size, &["optimizer.momentum=0.0", &iters, &saver])?;
    let run = RunDir::at(path)?;
    let times = Rc::new(RefCell::new(Vec::new()));
    for hook in stopwatch(&times, run.checkpoints().join("latest")) {
        job.add(hook).map_err(|error| BenchError::Instance(error.to_string()))?;
    }
    let parts = Parts::build(&job.config)?;
    let mut trainer =
        Trainer::assemble(parts, &job, Writers::default(), Some(run), Interrupt::default())?;
    match trainer.fit() {
        Ending::Completed => {}
        other => return Err(BenchError::Ending(other.describe().1)),
    }
    drop(trainer);
    std::fs::remove_dir_all(path).map_err(BenchError::file(path))?;
    match *times.borrow().as_slice() {
        [before, next, began, went_on, ended] => {
            // Dropping the gradients of an iteration is not part of it.
            let usual = millis(before, next);
            Ok((millis(began, went_on) - usual, millis(began, ended) - usual))
        }
        _ => Err(BenchError::Ending("no checkpoint was taken".to_owned())),
    }
}

/// Hooks that note when an iteration is over and when the next one begins, first without a checkpoint between them and then with one, and
/// when the file `latest` is there, which is written last. Nothing trains meanwhile.
fn stopwatch(times: &Rc<RefCell<Vec<Instant>>>, latest: PathBuf) -> [CallbackHook; 2] {
    let (before, after) = (Rc::clone(times), Rc::clone(times));
    let last = CallbackHook::new("last").level(Level::LOWEST).at(Point::AfterIter, move |t| {
        if (AT - 1..=AT).contains(&t.iter()) {
            before.borrow_mut().push(Instant::now());
        }
        Ok(())
    });
    let next = CallbackHook::new("next").level(Level::HIGHEST).at(Point::BeforeIter, move |t| {
        let began = Instant::now();
        if t.iter() == AT {
            after.borrow_mut().push(began);
        }
        if t.iter() != AT + 1 {
            return Ok(());
        }
        while !latest.exists() {
            if began.elapsed() > PATIENCE {
                bail!("the checkpoint is not complete after {PATIENCE:?}");
            }
            sleep(Duration::from_micros(200));
        }
        after.borrow_mut().extend([began, Instant::now()]);
        Ok(())
    });
    [last, next]
}

/// Milliseconds to write so many bytes to a new file and to sync it.
fn plain_file(path: &Path, bytes: u64) -> Result<f64, BenchError> {
    let part = vec![1_u8; 1 << 22];
    let began = Instant::now();
    let mut file = File::create(path).map_err(BenchError::file(path))?;
    let mut left = bytes;
    while left > 0 {
        let next = usize::try_from(left).unwrap_or(usize::MAX).min(part.len());
        file.write_all(&part[..next]).map_err(BenchError::file(path))?;
        left -= next as u64;
    }
    file.sync_all().map_err(BenchError::file(path))?;
    let time = millis(began, Instant::now());
    std::fs::remove_file(path).map_err(BenchError::file(path))?;
    Ok(time)
}

fn millis(from: Instant, to: Instant) -> f64 {
    to.duration_since(from).as_secs_f64() * 1e3
}

fn curves(found: &[(u32, Saved)]) -> Vec<Curve> {
    let series = |name: &str, value: &dyn Fn(u32, &Saved) -> f64| {
        let points = found.iter().map(|(size, saved)| (f64::from(*size), value(*size, saved)));
        (name.to_owned(), points.collect::<Vec<_>>())
    };
    // Bytes per millisecond are kilobytes per second.
    #[expect(clippy::cast_precision_loss, reason = "a few gigabytes")]
    let speed = |size: u32, time: f64| (u64::from(size) * STATE) as f64 / time / 1e6;
    let times = vec![
        series("until it is on disk", &|_, it| it.save),
        series("training waits", &|_, it| it.wait),
        series("a copy of as many bytes", &|_, it| it.copy),
        series("a plain file, written and synced", &|_, it| it.file),
    ];
    let speeds = vec![
        series("until it is on disk", &|size, it| speed(size, it.save)),
        series("a copy of as many bytes", &|size, it| speed(size, it.copy)),
        series("a plain file, written and synced", &|size, it| speed(size, it.file)),
    ];
    let curve = |file, title, unit, series, note: &str| Curve {
        file,
        title,
        what: "parameters",
        unit,
        series,
        note: note.to_owned(),
    };
    vec![
        curve(
            "checkpoints",
            "A checkpoint",
            "ms",
            times,
            "SGD without momentum: the state is only the weights, 4 bytes per parameter. Training waits for a copy in memory and \
             continues while a thread writes it.",
        ),
        curve(
            "checkpoint_bytes",
            "Throughput of a checkpoint",
            "GB/s",
            speeds,
            "The same runs. The files of a checkpoint have checksums and are synced before they are renamed into place.",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_per_second_follow_from_the_time() {
        let saved = Saved { wait: 1.0, save: 8.0, copy: 2.0, file: 4.0 };
        let found = curves(&[(1_000_000, saved)]);
        let speeds = found[1].series.iter().map(|(_, points)| points[0].1.to_string());
        assert_eq!(speeds.collect::<Vec<_>>(), ["0.5", "2", "1"]);
        assert_eq!(found[0].series.len(), 4);
    }

    #[test]
    fn a_plain_file_is_written_and_removed() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("file");
        assert!(plain_file(&path, (1 << 22) + 5).unwrap() > 0.0);
        assert!(!path.exists());
    }
}
