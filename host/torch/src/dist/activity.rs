//! Which collective a process is in, for its other threads to read.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The collective that a process is in, or the one that failed, and when it began.
#[derive(Debug, Default)]
pub struct Activity(Mutex<Option<(Collective, Instant)>>);

/// A collective of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collective {
    /// What it does, by libtorch's name.
    pub name: &'static str,
    /// The group.
    pub group: &'static str,
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "collective {} of group `{}`", self.name, self.group)
    }
}

impl Activity {
    /// The collective that runs or failed last.
    pub fn current(&self) -> Option<Collective> {
        self.get().map(|(collective, _)| collective)
    }

    /// The time since that collective began; zero between collectives.
    pub fn elapsed(&self) -> Duration {
        self.get().map(|(_, began)| began.elapsed()).unwrap_or_default()
    }

    /// Runs a collective. One that fails stays the current one, so that it can be reported.
    pub(super) fn during<T, E>(
        &self,
        collective: Collective,
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.set(Some((collective, Instant::now())));
        run().inspect(|_| self.set(None))
    }

    fn get(&self) -> Option<(Collective, Instant)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, collective: Option<(Collective, Instant)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = collective;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collective_is_current_while_it_runs_and_after_it_failed() {
        let activity = Activity::default();
        let sum = Collective { name: "all_reduce", group: "gradients" };
        let seen = activity.during(sum, || Ok::<_, ()>(activity.current()));
        assert_eq!((seen, activity.current()), (Ok(Some(sum)), None));
        assert!(activity.elapsed().is_zero());
        assert!(activity.during(sum, || Err::<(), _>(())).is_err());
        let text = activity.current().map(|it| it.to_string());
        assert_eq!(text.as_deref(), Some("collective all_reduce of group `gradients`"));
        assert!(!activity.elapsed().is_zero());
    }
}
