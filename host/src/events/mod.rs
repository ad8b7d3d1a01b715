//! Scalars of a run: producers put, writers pull.
//!
//! A name is interned once; putting a value by its key allocates nothing and looks nothing up. Each series keeps its
//! last values only, so that an endless run has bounded memory.

mod series;

pub use series::Series;
use std::collections::HashMap;
use std::rc::Rc;

/// A scalar's interned name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u32);

/// The scalars of a run.
#[derive(Default)]
pub struct EventStorage {
    keys: HashMap<Rc<str>, Key>,
    series: Vec<Series>,
}

impl EventStorage {
    /// The key of a name. `smooth` says whether writers show a median; the first one to intern a name decides.
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

    /// Puts a value for iteration `step`.
    pub fn put(&mut self, key: Key, step: u64, value: f64) {
        if let Some(series) = self.series.get_mut(key.0 as usize) {
            series.put(step, value);
        }
    }

    /// The series of a key.
    pub fn series(&self, key: Key) -> Option<&Series> {
        self.series.get(key.0 as usize)
    }

    /// The series of a name.
    pub fn named(&self, name: &str) -> Option<&Series> {
        self.keys.get(name).and_then(|&key| self.series(key))
    }

    /// Every series, in the order in which they were first put.
    pub fn all(&self) -> impl Iterator<Item = &Series> {
        self.series.iter()
    }

    /// The series with values that no writer has seen.
    pub fn pending(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|series| series.is_pending())
    }

    /// Notes that the writers have seen everything.
    pub fn mark_written(&mut self) {
        self.series.iter_mut().for_each(Series::mark_written);
    }
}
