//! Which collective a process is in, for its other threads to read.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The collective that a process is in, or the one that failed.
#[derive(Debug, Default)]
pub struct Activity(Mutex<Option<Collective>>);

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
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a collective. One that fails stays the current one, so that it can be reported.
    pub(super) fn during<T, E>(
        &self,
        collective: Collective,
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.set(Some(collective));
        run().inspect(|_| self.set(None))
    }

    fn set(&self, collective: Option<Collective>) {
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
        assert!(activity.during(sum, || Err::<(), _>(())).is_err());
        let text = activity.current().map(|it| it.to_string());
        assert_eq!(text.as_deref(), Some("collective all_reduce of group `gradients`"));
    }
}
