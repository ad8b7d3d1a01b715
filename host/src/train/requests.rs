//! What hooks and signals have asked of the loop, until its next boundary.

use super::load::LoadRequest;
use crate::run::checkpoint::Rule;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// A validation in the next slot.
    pub validate: bool,
    /// A checkpoint to load once `before_train` is over.
    pub load: Option<LoadRequest>,
    savers: Vec<String>,
    rules: Vec<Rule>,
    stop: Option<Stop>,
}

/// Who asked for an end, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The hook that asked.
    pub who: String,
    /// Its reason.
    pub why: String,
}

impl Requests {
    /// Asks for an end; the first one to ask is remembered.
    pub fn stop(&mut self, who: &str, why: &str) {
        self.stop.get_or_insert_with(|| Stop { who: who.to_owned(), why: why.to_owned() });
    }

    /// Who asked for an end.
    pub fn stopped(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// Asks for a checkpoint in the next slot.
    pub fn save(&mut self, who: &str) {
        if !self.savers.iter().any(|saver| saver == who) {
            self.savers.push(who.to_owned());
        }
    }

    /// Who asked for a checkpoint.
    pub fn savers(&self) -> &[String] {
        &self.savers
    }

    /// Takes what a hook wants kept, in place of what it wanted before.
    pub fn keep(&mut self, rule: Rule) {
        match self.rules.iter_mut().find(|old| old.who == rule.who) {
            Some(old) => *old = rule,
            None => self.rules.push(rule),
        }
    }

    /// What hooks want kept.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Who asked for a checkpoint, which is being made.
    pub fn take_savers(&mut self) -> Vec<String> {
        std::mem::take(&mut self.savers)
    }
}
