//! TensorBoard event files: one for each process of a run, in the folder `tb` unless a hook names another.
//!
//! Every write goes to the file at once, so that a kill loses at most what was being written, which readers skip. A
//! resumed run truncates the older files to the checkpoint and starts its own with a session start at that step, which
//! makes an open TensorBoard discard what it had read beyond it.

mod event_files;
mod hparams;
mod messages;
mod record;

use super::record_file::RecordFile;
use super::{RunFacts, Writer};
use crate::events::{Content, EventStorage, Image, Media, MediaItem};
use crate::progress::Progress;
use crate::run::{RunDirError, atomic};
use event_files::EventFiles;
use image::{ExtendedColorType, ImageEncoder as _};
use messages::{Event, SessionLog, SessionStatus, Shown, Summary, Value, What};
use prost::Message as _;
use serde_json::{Map, Value as Json, json};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes an event file.
pub(super) struct TensorBoard {
    folder: PathBuf,
    records: RecordFile,
    // Which files of the folder are this run's.
    event_files: EventFiles,
    // The last step of anything written.
    step: u64,
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// A new event file: named by time, machine and process, as TensorBoard expects, with a number if the name is taken.
fn create(folder: &Path) -> Result<(PathBuf, File), RunDirError> {
    atomic::create_folder(folder)?;
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let machine = machine.trim();
    let (seconds, process) = (now().floor(), std::process::id());
    let mut number = 0;
    loop {
        let name = format!("events.out.tfevents.{seconds:010.0}.{machine}.{process}.{number}");
        let path = folder.join(name);
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(RunDirError::io("create", &path)(error)),
        }
    }
}

/// Opens a new event file in a folder.
pub(super) fn open(folder: &Path, facts: &RunFacts) -> Result<Box<dyn Writer>, RunDirError> {
    let (path, file) = create(folder)?;
    let event_files = EventFiles::of(folder, facts.run_dir.as_deref());
    // Before anything is written: a file that is not listed belongs to another run.
    event_files.add(&path)?;
    let records = RecordFile::new(&path, file)?;
    let mut writer = TensorBoard { folder: folder.to_owned(), records, event_files, step: 0 };
    writer.push(0, What::FileVersion("brain.Event:2".to_owned()));
    writer.push(0, What::Summary(hparams::begin(&facts.config, now())));
    let config = text("config", &format!("```toml\n{}\n```", facts.config.trim_end()));
    writer.push(0, What::Summary(Summary { value: vec![config] }));
    writer.records.settle()?;
    Ok(Box::new(writer))
}

impl TensorBoard {
    fn push(&mut self, step: u64, what: What) {
        self.step = self.step.max(step);
        let step = i64::try_from(step).unwrap_or(i64::MAX);
        let event = Event { wall_time: now(), step, what: Some(what) };
        self.records.push(&record::framed(&event.encode_to_vec()), 1);
    }

    /// The event files of this run in the folder.
    fn files(&self) -> Result<Vec<PathBuf>, RunDirError> {
        let failed = || RunDirError::io("read", &self.folder);
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(failed())? {
            let path = entry.map_err(failed())?.path();
            if name_of(&path).starts_with("events.out.tfevents.") {
                files.push(path);
            }
        }
        self.event_files.own(files)
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn scalar(tag: &str, value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "TensorBoard keeps scalars in 32 bits")]
    let shown = Some(Shown::Scalar(value as f32));
    Value { tag: tag.to_owned(), metadata: None, shown }
}

fn text(tag: &str, text: &str) -> Value {
    let shape = Some(messages::Shape { dim: vec![messages::Dim { size: 1 }] });
    let tensor = messages::Tensor { dtype: 7, shape, strings: vec![text.as_bytes().to_vec()] };
    let plugin = Some(messages::PluginData { name: "text".to_owned(), content: Vec::new() });
    let metadata = Some(messages::Metadata { plugin, data_class: 2 });
    Value { tag: tag.to_owned(), metadata, shown: Some(Shown::Tensor(tensor)) }
}

/// An image as PNG; `None` if its size does not match its pixels.
fn picture(image: &Image) -> Option<messages::Image> {
    let colors = match image.channels {
        1 => ExtendedColorType::L8,
        3 => ExtendedColorType::Rgb8,
        _ => ExtendedColorType::Rgba8,
    };
    let mut encoded = Vec::new();
    let png = image::codecs::png::PngEncoder::new(&mut encoded);
    png.write_image(&image.pixels, image.width, image.height, colors).ok()?;
    let (height, width) = (i32::try_from(image.height).ok()?, i32::try_from(image.width).ok()?);
    Some(messages::Image { height, width, colorspace: image.channels.into(), encoded })
}

fn shown(item: &MediaItem) -> Option<Value> {
    let shown = match &item.content {
        Content::Text(words) => return Some(text(&item.name, words)),
        Content::Image(image) => Shown::Image(picture(image)?),
        Content::Histogram(found) => Shown::Histogram(messages::Histogram {
            min: found.min,
            max: found.max,
            num: found.count,
            sum: found.sum,
            sum_squares: found.squares,
            bucket_limit: found.limits.clone(),
            bucket: found.counts.clone(),
        }),
    };
    Some(Value { tag: item.name.clone(), metadata: None, shown: Some(shown) })
}

impl Writer for TensorBoard {
    fn write(&mut self, events: &EventStorage, progress: &Progress) -> Result<(), RunDirError> {
        self.record(events, progress)?;
        self.records.flush();
        Ok(())
    }

    fn record(&mut self, events: &EventStorage, _progress: &Progress) -> Result<(), RunDirError> {
        for series in events.pending() {
            if let Some(value) = series.latest() {
                let value = vec![scalar(series.name(), value)];
                self.push(series.step(), What::Summary(Summary { value }));
            }
        }
        Ok(())
    }

    fn write_media(&mut self, media: &Media) -> Result<(), RunDirError> {
        for waiting in media.iter() {
            if let Some(value) = shown(waiting) {
                self.push(waiting.iter, What::Summary(Summary { value: vec![value] }));
            }
        }
        self.records.flush();
        Ok(())
    }

    fn takes_media(&self) -> bool {
        true
    }

    fn finish(&mut self) -> Result<(), RunDirError> {
        self.push(0, What::Summary(hparams::end(now())));
        self.records.finish()
    }

    fn abandon(&mut self) -> Result<(), RunDirError> {
        let path = self.records.path();
        self.event_files.remove(path)?;
        std::fs::remove_file(path).map_err(RunDirError::io("remove", path))?;
        // Only a file that this writer created can be empty now.
        let _ = std::fs::remove_dir(&self.folder);
        Ok(())
    }

    fn name(&self) -> &'static str {
        "tensorboard"
    }

    /// The last step, and the size of each file of the folder.
    fn mark(&mut self) -> Result<Json, RunDirError> {
        self.records.settle()?;
        let mut lengths = Map::new();
        for path in self.files()? {
            let file = path.metadata().map_err(RunDirError::io("inspect", &path))?;
            lengths.insert(name_of(&path), file.len().into());
        }
        Ok(json!({ "step": self.step, "files": lengths }))
    }

    fn file(&self) -> Option<(&Path, &File)> {
        Some(self.records.file())
    }

    fn rewind(&mut self, mark: Option<&Json>) -> Result<(), RunDirError> {
        let lengths = mark.and_then(|mark| mark.get("files"));
        for path in self.files()?.into_iter().filter(|path| path != self.records.path()) {
            match lengths.and_then(|files| files.get(name_of(&path))?.as_u64()) {
                Some(length) => shorten(&path, length)?,
                None => std::fs::remove_file(&path).map_err(RunDirError::io("remove", &path))?,
            }
        }
        let step = mark.and_then(|mark| mark.get("step")?.as_u64()).unwrap_or(0);
        let status = SessionStatus::Start.into();
        self.push(step + 1, What::SessionLog(SessionLog { status }));
        self.records.settle().map(drop)
    }
}

/// Truncates a file to an earlier length.
fn shorten(path: &Path, length: u64) -> Result<(), RunDirError> {
    let failed = || RunDirError::io("shorten", path);
    let file = OpenOptions::new().write(true).open(path).map_err(failed())?;
    let now = file.metadata().map_err(failed())?.len();
    file.set_len(now.min(length)).map_err(failed())?;
    // Synced here because the next checkpoint relies on it, and the file is not open then.
    file.sync_all().map_err(failed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Sample;

    /// The events of a file, without their times.
    fn events_in(path: &Path) -> Vec<(i64, What)> {
        let bytes = std::fs::read(path).unwrap();
        let (mut rest, mut found) = (bytes.as_slice(), Vec::new());
        while let Some((length, _)) = rest.split_first_chunk::<8>() {
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap();
            let event = Event::decode(&rest[12..12 + length]).unwrap();
            found.push((event.step, event.what.unwrap()));
            rest = &rest[16 + length..];
        }
        found
    }

    fn write(writer: &mut dyn Writer, events: &mut EventStorage, iter: u64) {
        let key = events.key("train/loss", false);
        events.put(key, Sample { iter, samples: iter, value: 0.5 });
        writer.write(events, &Progress::default()).unwrap();
        events.mark_written();
    }

    fn scalar_steps(folder: &Path) -> Vec<i64> {
        let mut files: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let is_scalar = |(step, what): (i64, What)| match what {
            What::Summary(summary) => {
                let is_scalar = matches!(summary.value[0].shown, Some(Shown::Scalar(_)));
                is_scalar.then_some(step)
            }
            _ => None,
        };
        files.iter().flat_map(|path| events_in(path)).filter_map(is_scalar).collect()
    }

    #[test]
    fn a_resumed_run_has_each_step_once_and_says_where_it_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut events, facts) = (EventStorage::default(), RunFacts::default());
        let mut writer = open(folder.path(), &facts).unwrap();
        (1..=3).for_each(|iter| write(writer.as_mut(), &mut events, iter));
        let mark = writer.mark().unwrap();
        (4..=6).for_each(|iter| write(writer.as_mut(), &mut events, iter));
        assert_eq!(scalar_steps(folder.path()), [1, 2, 3, 4, 5, 6]);

        let mut writer = open(folder.path(), &facts).unwrap();
        writer.rewind(Some(&mark)).unwrap();
        (4..=5).for_each(|iter| write(writer.as_mut(), &mut events, iter));
        assert_eq!(scalar_steps(folder.path()), [1, 2, 3, 4, 5]);
        let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(files.len(), 2);
        let is_start = |path: PathBuf| {
            events_in(&path)
                .iter()
                .any(|(step, what)| *step == 4 && matches!(what, What::SessionLog(_)))
        };
        assert_eq!(
            files.into_iter().filter(|file| is_start(file.as_ref().unwrap().path())).count(),
            1
        );

        let mut writer = open(folder.path(), &facts).unwrap();
        writer.rewind(None).unwrap();
        assert_eq!(scalar_steps(folder.path()), [0i64; 0]);
    }
}
