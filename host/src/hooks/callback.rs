//! A hook made of closures, for programs that use hookrack as a library.
//!
//! ```no_run
//! use hookrack::hooks::CallbackHook;
//! use hookrack_plugin_api::Point;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut job = hookrack::job::Job::load("config.toml".as_ref(), &[])?;
//! let mut seen = 0;
//! let hook = CallbackHook::new("counter").at(Point::AfterTrainIter, move |t| {
//!     seen += 1;
//!     if seen == 100 { t.request_stop("enough") } else { Ok(()) }
//! });
//! job.add(hook)?;
//! # Ok(())
//! # }
//! ```

use hookrack_plugin_api::{Level, OnError, Point, Result, Trainer};

/// What is called at a point.
pub type Callback = Box<dyn FnMut(&mut Trainer) -> Result<()>>;

/// Closures at points of a run.
pub struct CallbackHook {
    /// Its name in the run.
    pub name: String,
    /// Its level; lower runs first.
    pub level: Level,
    /// What an error in it does to the run.
    pub on_error: OnError,
    calls: Vec<(Point, Callback)>,
}

impl CallbackHook {
    /// A hook without closures, at the level NORMAL, whose errors end the run.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            level: Level::NORMAL,
            on_error: OnError::Abort,
            calls: Vec::new(),
        }
    }

    /// Calls a closure at a point. Several at the same point are called in the order in which they were given.
    #[must_use]
    pub fn at(
        mut self,
        point: Point,
        callback: impl FnMut(&mut Trainer) -> Result<()> + 'static,
    ) -> Self {
        self.calls.push((point, Box::new(callback)));
        self
    }

    /// Sets its level.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Sets what an error in it does to the run.
    #[must_use]
    pub fn on_error(mut self, policy: OnError) -> Self {
        self.on_error = policy;
        self
    }

    /// The points at which it is called, each once.
    pub fn points(&self) -> Vec<Point> {
        let mut points: Vec<_> = self.calls.iter().map(|(point, _)| *point).collect();
        points.sort();
        points.dedup();
        points
    }

    /// Calls the closures of a point.
    pub(crate) fn call(&mut self, point: Point, t: &mut Trainer) -> Result<()> {
        self.calls.iter_mut().filter(|(at, _)| *at == point).try_for_each(|(_, call)| call(t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_listed_once_however_many_closures_it_has() {
        let hook = CallbackHook::new("it")
            .at(Point::AfterTrain, |_| Ok(()))
            .at(Point::BeforeTrain, |_| Ok(()))
            .at(Point::AfterTrain, |_| Ok(()))
            .level(Level::LOW);
        assert_eq!(hook.points(), [Point::BeforeTrain, Point::AfterTrain]);
        assert_eq!((hook.level, hook.on_error), (Level::LOW, OnError::Abort));
    }
}
