//! Decides whether a crashed run is restarted, and without which hook.

use serde_json::{Value as Json, json};

/// After this many crashes a hook is left out, if the run can continue without it.
const TOO_OFTEN: usize = 2;

/// One crash.
#[derive(Clone, Debug)]
pub(super) struct Crash {
    /// `SIGSEGV in libfoo.so, FooHook at after_train_iter, iteration 812`.
    pub(super) message: String,
    /// The hook that was being called.
    hook: Option<String>,
    /// The iteration in progress.
    pub(super) iter: Option<u64>,
    /// The iteration of the newest checkpoint.
    saved: u64,
}

/// What to do after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Restart.
    Restart,
    /// Stop.
    GiveUp,
}

/// The crashes of a run so far.
pub(super) struct CrashHistory {
    most: u32,
    pub(super) crashes: Vec<Crash>,
    left_out: Vec<String>,
}

impl Crash {
    /// From the crash report, if there is one, else from the cause that the exit status tells.
    pub(super) fn new(cause: &str, report: Option<&Json>, saved: u64) -> Self {
        let text = |key: &str| report.and_then(|report| report[key].as_str()).map(str::to_owned);
        let message = text("message").unwrap_or_else(|| cause.to_owned());
        let iter = report.and_then(|report| report["iteration"].as_u64());
        Self { message, hook: text("hook"), iter, saved }
    }
}

impl CrashHistory {
    pub(super) fn new(most: u32) -> Self {
        Self { most, crashes: Vec::new(), left_out: Vec::new() }
    }

    /// The number of restarts.
    pub(super) fn restarts(&self) -> u32 {
        u32::try_from(self.crashes.len()).unwrap_or(u32::MAX)
    }

    /// The hooks that are left out.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &str> {
        self.left_out.iter().map(String::as_str)
    }

    /// Decides what to do after a crash; returns it with a message.
    pub(super) fn after(
        &mut self,
        crash: &Crash,
        is_optional: impl FnOnce(&str) -> bool,
    ) -> (Decision, String) {
        let before = self.crashes.last().cloned();
        self.crashes.push(crash.clone());
        let Crash { message, hook, saved, .. } = crash;
        let times = self.crashes.iter().filter(|it| it.hook == *hook).count();
        let culprit = hook.as_deref().filter(|_| times >= TOO_OFTEN);
        let (number, most) = (self.crashes.len(), self.most);
        if number > most as usize {
            let why = format!("{message}\nthe run has crashed {number} times: not restarted");
            return (Decision::GiveUp, why);
        }
        let from = match saved {
            0 => "from the start".to_owned(),
            iter => format!("from the checkpoint of iteration {iter}"),
        };
        if let Some(hook) = culprit
            && is_optional(hook)
        {
            self.left_out.push(hook.to_owned());
            let why = format!(
                "{message}\n`{hook}` has crashed {TOO_OFTEN} times: restarting {from} without it ({number} of {most})"
            );
            return (Decision::Restart, why);
        }
        let has_progress =
            before.is_none_or(|before| before.saved < *saved || before.iter < crash.iter);
        if !has_progress {
            let hook = culprit.map_or_else(String::new, |hook| {
                format!(
                    "; to continue without `{hook}`, set its on_error to \"disable\" or \"warn\""
                )
            });
            let why = format!("{message}\nno progress since the last crash: not restarted{hook}");
            return (Decision::GiveUp, why);
        }
        (Decision::Restart, format!("{message}\nrestarting {from} ({number} of {most})"))
    }

    /// For `run.json`.
    pub(super) fn to_json(&self) -> Json {
        let crash = |crash: &Crash| {
            let Crash { message, hook, iter, saved } = crash;
            json!({ "message": message, "hook": hook, "iter": iter, "resumed_from": saved })
        };
        json!({
            "restarts": self.crashes.len().min(self.most as usize),
            "crashes": self.crashes.iter().map(crash).collect::<Vec<_>>(),
            "left_out": self.left_out,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crash(hook: &str, iter: u64, saved: u64) -> Crash {
        let message = format!("SIGSEGV, {hook}");
        Crash { message, hook: Some(hook.to_owned()), iter: Some(iter), saved }
    }

    #[test]
    fn a_hook_that_crashed_twice_is_left_out_if_the_run_can_continue_without_it() {
        let mut history = CrashHistory::new(5);
        assert_eq!(history.after(&crash("foo", 500, 400), |_| true).0, Decision::Restart);
        assert_eq!(history.left_out().count(), 0);
        let (next, said) = history.after(&crash("foo", 500, 400), |hook| hook == "foo");
        assert_eq!(next, Decision::Restart);
        assert_eq!(history.left_out().collect::<Vec<_>>(), ["foo"]);
        assert!(
            said.contains("from the checkpoint of iteration 400 without it (2 of 5)"),
            "{said}"
        );
    }

    #[test]
    fn a_run_that_keeps_crashing_is_restarted_only_if_it_makes_progress() {
        let mut history = CrashHistory::new(9);
        assert_eq!(history.after(&crash("foo", 500, 400), |_| false).0, Decision::Restart);
        assert_eq!(history.after(&crash("foo", 900, 800), |_| false).0, Decision::Restart);
        assert_eq!(history.after(&crash("foo", 950, 800), |_| false).0, Decision::Restart);
        let (next, said) = history.after(&crash("foo", 950, 800), |_| false);
        assert_eq!(next, Decision::GiveUp);
        assert!(said.contains("no progress") && said.contains("set its on_error"), "{said}");
    }

    #[test]
    fn there_are_no_more_restarts_than_allowed() {
        let mut history = CrashHistory::new(1);
        assert_eq!(history.after(&crash("foo", 500, 400), |_| true).0, Decision::Restart);
        assert_eq!(history.after(&crash("bar", 900, 800), |_| true).0, Decision::GiveUp);
        assert_eq!(history.to_json()["restarts"], 1);
    }
}
