//! Requests of hooks and signals to the loop, until its next boundary.

use super::load_request::LoadRequest;
use crate::run::checkpoint::Rule;

/// What was requested.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// A validation at the next opportunity.
    pub validate: bool,
    /// A checkpoint to load once `before_train` is over.
    pub load: Option<LoadRequest>,
    savers: Vec<String>,
    // The iteration of the last checkpoint, and the hooks that requested it.
    made: (u64, Vec<String>),
    rules: Vec<Rule>,
    stop: Option<Stop>,
}

/// The hook that requested a stop, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The hook.
    pub who: String,
    /// Its reason.
    pub why: String,
}

impl Requests {
    /// Requests a stop; the first request is kept.
    pub fn stop(&mut self, who: &str, why: &str) {
        self.stop.get_or_insert_with(|| Stop { who: who.to_owned(), why: why.to_owned() });
    }

    /// The request to stop.
    pub fn stopped(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// Requests a checkpoint at the next opportunity.
    pub fn save(&mut self, who: &str) {
        if !self.savers.iter().any(|saver| saver == who) {
            self.savers.push(who.to_owned());
        }
    }

    /// The hooks that requested a checkpoint.
    pub fn savers(&self) -> &[String] {
        &self.savers
    }

    /// Sets which checkpoints a hook wants to keep, replacing its previous rule. The name stays.
    pub fn keep(&mut self, rule: Rule) {
        let old = self.rule_of(&rule.who);
        let name = std::mem::take(&mut old.name);
        *old = Rule { name, ..rule };
    }

    /// Sets the pattern of the second name of a hook's checkpoints. Without a rule of its own, all are kept.
    pub fn name(&mut self, who: &str, pattern: &str) {
        pattern.clone_into(&mut self.rule_of(who).name);
    }

    fn rule_of(&mut self, who: &str) -> &mut Rule {
        let place = self.rules.iter().position(|rule| rule.who == who);
        let place = place.unwrap_or_else(|| {
            self.rules.push(Rule { who: who.to_owned(), ..Rule::default() });
            self.rules.len() - 1
        });
        &mut self.rules[place]
    }

    /// Which checkpoints hooks want to keep.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The hooks that requested the checkpoint of iteration `iter`, which is being written. A second one of an iteration
    /// takes the place of the first, and counts for the hooks that requested that one too.
    pub fn take_savers(&mut self, iter: u64) -> Vec<String> {
        let mut savers = std::mem::take(&mut self.savers);
        if self.made.0 == iter {
            let earlier = std::mem::take(&mut self.made.1);
            savers.extend(
                earlier.into_iter().filter(|who| !savers.contains(who)).collect::<Vec<_>>(),
            );
        }
        self.made = (iter, savers.clone());
        savers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_checkpoint_of_an_iteration_is_also_theirs_who_asked_for_the_first() {
        let mut requests = Requests::default();
        requests.save("best");
        requests.save("periodic");
        assert_eq!(requests.take_savers(4), ["best", "periodic"]);
        requests.save("periodic");
        assert_eq!(requests.take_savers(4), ["periodic", "best"]);
        requests.save("periodic");
        assert_eq!(requests.take_savers(6), ["periodic"]);
    }
}
