//! Which iterations are recorded: wait, warm up, record, and repeat.

/// The lengths of a window's parts, in iterations.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Iterations to skip.
    pub wait: u64,
    /// Iterations of warm-up.
    pub warmup: u64,
    /// Iterations to record.
    pub active: u64,
    /// Number of repetitions; 0 repeats until the run ends.
    pub repeat: u64,
}

/// What an iteration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nothing happens.
    Wait,
    /// The profiler warms up.
    Warmup,
    /// It records.
    Active,
}

impl Window {
    /// What the `n`-th iteration since the hook began is for; the first is 0.
    pub fn part(&self, n: u64) -> Part {
        let length = self.wait + self.warmup + self.active;
        if self.repeat > 0 && n >= self.repeat.saturating_mul(length) {
            return Part::Wait;
        }
        match n % length.max(1) {
            at if at < self.wait => Part::Wait,
            at if at < self.wait + self.warmup => Part::Warmup,
            _ => Part::Active,
        }
    }

    /// Whether the `n`-th iteration is the last one of those that are recorded together.
    pub fn ends_after(&self, n: u64) -> bool {
        let length = self.wait + self.warmup + self.active;
        self.part(n) == Part::Active && (n + 1).is_multiple_of(length.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(window: Window, count: u64) -> String {
        let letter = |n| match (window.part(n), window.ends_after(n)) {
            (Part::Wait, false) => '.',
            (Part::Warmup, false) => 'w',
            (Part::Active, false) => 'A',
            (Part::Active, true) => 'E',
            (part, true) => panic!("{part:?} ends a window"),
        };
        (0..count).map(letter).collect()
    }

    #[test]
    fn a_window_is_done_once_twice_or_for_ever() {
        let window = Window { wait: 2, warmup: 1, active: 2, repeat: 1 };
        assert_eq!(parts(window, 12), "..wAE.......");
        assert_eq!(parts(Window { repeat: 2, ..window }, 12), "..wAE..wAE..");
        assert_eq!(parts(Window { repeat: 0, ..window }, 16), "..wAE..wAE..wAE.");
        assert_eq!(parts(Window { wait: 0, warmup: 0, active: 1, repeat: 2 }, 4), "EE..");
    }
}
