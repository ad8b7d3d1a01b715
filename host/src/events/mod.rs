//! Scalars, images, histograms and texts of a run: hooks log them, writers pull them.
//!
//! A name is interned once; logging a value by its key needs no allocation and no lookup. Each series keeps its
//! last values only, and images and texts are dropped once written, so that memory is bounded.

mod histogram;
mod media;
mod metric_values;
mod series;
pub mod shown;
mod state;

pub use histogram::Histogram;
pub use media::{Content, Image, Media, MediaItem};
pub use metric_values::{MetricValue, MetricValues, SavedMetric};
pub use series::{Sample, Series};
pub use state::SavedSeries;
use std::collections::HashMap;
use std::rc::Rc;

/// The window of the median of a smoothed scalar, on the console and in the report. Files contain the values themselves.
pub const WINDOW: usize = 20;

/// A scalar's interned name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u32);

/// The scalars, images, histograms and texts of a run.
#[derive(Default)]
pub struct EventStorage {
    keys: HashMap<Rc<str>, Key>,
    series: Vec<Series>,
    media: Media,
    set: String,
}

impl EventStorage {
    /// The key of a name. `smooth` selects whether a median is displayed; the first call for a name decides.
    pub fn key(&mut self, name: &str, smooth: bool) -> Key {
        if let Some(&key) = self.keys.get(name) {
            return key;
        }
        let key = Key(u32::try_from(self.series.len()).unwrap_or(u32::MAX));
        let name: Rc<str> = name.into();
        self.series.push(Series::new(name.clone(), smooth));
        self.keys.insert(name, key);
        key
    }

    /// Logs a value.
    pub fn put(&mut self, key: Key, sample: Sample) {
        if let Some(series) = self.series.get_mut(key.0 as usize) {
            series.put(sample);
        }
    }

    /// Sets the named data set that is evaluated from now on; empty for none.
    pub fn enter_set(&mut self, name: &str) {
        name.clone_into(&mut self.set);
    }

    /// The named data set that is evaluated; empty if it has no name.
    pub fn set(&self) -> &str {
        &self.set
    }

    /// Logs an image, a histogram or a text.
    pub fn put_media(&mut self, item: MediaItem) {
        self.media.put(item);
    }

    /// The series of a key.
    pub fn series(&self, key: Key) -> Option<&Series> {
        self.series.get(key.0 as usize)
    }

    /// The series of a name.
    pub fn named(&self, name: &str) -> Option<&Series> {
        self.keys.get(name).and_then(|&key| self.series(key))
    }

    /// Every series, in the order in which they were first logged.
    pub fn all(&self) -> impl Iterator<Item = &Series> {
        self.series.iter()
    }

    /// The series with values that no writer has seen.
    pub fn pending(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|series| series.pending)
    }

    /// Images, histograms and texts that no writer has seen.
    pub fn media(&self) -> &Media {
        &self.media
    }

    /// Marks everything as written.
    pub fn mark_written(&mut self) {
        self.mark_scalars_written();
        self.mark_media_written();
    }

    /// Marks every scalar as written.
    pub fn mark_scalars_written(&mut self) {
        self.series.iter_mut().for_each(Series::mark_written);
    }

    /// Marks everything but scalars as written.
    pub fn mark_media_written(&mut self) {
        self.media.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_interned_once_and_the_first_says_whether_it_is_smoothed() {
        let mut events = EventStorage::default();
        let key = events.key("train/loss", true);
        assert_eq!(events.key("train/loss", false), key);
        assert_ne!(events.key("train/lr", false), key);
        assert!(events.named("train/loss").unwrap().is_smooth());
        assert!(events.named("train/acc").is_none());
    }

    #[test]
    fn what_was_written_is_no_longer_pending() {
        let mut events = EventStorage::default();
        let key = events.key("train/loss", true);
        events.put(key, Sample { iter: 1, samples: 8, value: 0.5 });
        let content = Content::Text("hello".to_owned());
        events.put_media(MediaItem { name: "train/note".to_owned(), iter: 1, content });
        assert_eq!((events.pending().count(), events.media().iter().count()), (1, 1));
        events.mark_written();
        assert_eq!((events.pending().count(), events.media().iter().count()), (0, 0));
        assert_eq!(events.series(key).unwrap().latest(), Some(0.5));
    }
}
