//! What hooks and signals have asked of the loop, until its next boundary.

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// A validation in the next slot.
    pub validate: bool,
    savers: Vec<String>,
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

    /// Who asked for a checkpoint, which is being made.
    pub fn take_savers(&mut self) -> Vec<String> {
        std::mem::take(&mut self.savers)
    }
}
