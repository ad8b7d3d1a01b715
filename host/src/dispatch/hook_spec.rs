//! A configured hook and its points, before any instance exists.

use super::cadence::CallFilter;
use crate::config::TimeLimit;
use hookrack_plugin_api::{Level, OnError, OnRanks, Point};
use std::path::PathBuf;

/// One hook or metric of a run.
#[derive(Clone, Debug)]
pub struct HookSpec {
    /// The instance's name; unique in a run.
    pub name: String,
    /// The `type` in the config.
    pub type_name: String,
    /// Lower runs first.
    pub level: Level,
    /// Of equal level, default hooks run first.
    pub is_default: bool,
    /// The library that it comes from; `None` for what is built in.
    pub library: Option<PathBuf>,
    /// The points that it implements.
    pub points: Vec<Point>,
    /// What an error in it does to the run.
    pub on_error: OnError,
    /// When it runs.
    pub when: CallFilter,
    /// The time limit of a call.
    pub time_limit: Option<TimeLimit>,
    /// The ranks that it runs on.
    pub ranks: OnRanks,
    /// The values that it reads.
    pub reads: Vec<String>,
    /// The values that it writes.
    pub writes: Vec<String>,
}

impl HookSpec {
    /// Whether it is the built-in main hook's kind: a role that yields to any other provider.
    pub(super) fn yields(&self) -> bool {
        self.is_default
    }

    /// A hook that is called at every occurrence of these points, on every rank; an error in it ends the run.
    pub fn at(name: &str, level: Level, points: Vec<Point>) -> Self {
        Self {
            name: name.into(),
            type_name: name.into(),
            level,
            is_default: false,
            library: None,
            points,
            on_error: OnError::Abort,
            when: CallFilter::ALWAYS,
            time_limit: None,
            ranks: OnRanks::All,
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// A hook with every role that the loop needs.
    #[cfg(test)]
    pub(super) fn main(level: i64) -> Self {
        let roles = [
            Point::OnIterForward,
            Point::OnIterBackward,
            Point::OnOptimizerStep,
            Point::OnLrAdjust,
        ];
        Self::at("main", Level(level), roles.to_vec())
    }

    /// The library's file name, or "built in".
    pub fn source(&self) -> String {
        match self.library.as_deref().and_then(|path| path.file_name()) {
            Some(file) => file.to_string_lossy().into_owned(),
            None => "built in".to_owned(),
        }
    }
}
