//! `Timer`: ends a run when its time is up.

use hookrack_plugin_api::prelude::*;
use std::time::Instant;

/// Stops training after a given time and saves a checkpoint to resume from. Time before a resume counts too.
#[derive(Settings)]
pub(super) struct Timer {
    /// Maximum training time: `"90s"`, `"30m"`, `"1h30m"`, `"2d"`, `"HH:MM:SS"` or `"DD:HH:MM:SS"`.
    #[param(default = "1d", check = is_time)]
    max_time: String,
    #[param(skip)]
    limit: f64,
    #[param(skip)]
    earlier: f64,
    #[param(skip)]
    began: Option<Instant>,
}

/// Seconds in a text such as `1h30m` or `00:12:00:00`.
fn seconds(text: &str) -> Option<f64> {
    if text.contains(':') {
        return clock(text);
    }
    let (mut total, mut number) = (0.0, String::new());
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        let unit = match c {
            '0'..='9' | '.' => {
                number.push(c);
                continue;
            }
            's' => 1.0,
            'm' => 60.0,
            'h' => 3600.0,
            'd' => 86_400.0,
            _ => return None,
        };
        total += std::mem::take(&mut number).parse::<f64>().ok()? * unit;
    }
    // A number without a unit could be anything.
    (number.is_empty() && total > 0.0).then_some(total)
}

fn is_time(text: &str) -> std::result::Result<(), String> {
    let why =
        || format!("`{text}` is not a duration: use \"90s\", \"1h30m\", \"2d\" or \"HH:MM:SS\"");
    seconds(text).map(drop).ok_or_else(why)
}

/// Seconds in `MM:SS`, `HH:MM:SS` or `DD:HH:MM:SS`.
fn clock(text: &str) -> Option<f64> {
    let units = [1.0, 60.0, 3600.0, 86_400.0];
    let parts: Vec<_> = text.split(':').rev().collect();
    if parts.len() > units.len() {
        return None;
    }
    let mut total = 0.0;
    for (part, unit) in parts.iter().zip(units) {
        total += f64::from(part.trim().parse::<u32>().ok()?) * unit;
    }
    (total > 0.0).then_some(total)
}

impl Timer {
    fn elapsed(&self) -> f64 {
        self.earlier + self.began.map_or(0.0, |began| began.elapsed().as_secs_f64())
    }
}

#[hook(level = 57, ranks = "main", on_error = "abort")]
impl Hook for Timer {
    fn on_attach(&mut self, _t: &mut Trainer) -> Result<()> {
        // It was checked when it was read.
        self.limit = seconds(&self.max_time).unwrap_or(f64::INFINITY);
        Ok(())
    }

    fn before_train(&mut self, _t: &mut Trainer) -> Result<()> {
        self.began = Some(Instant::now());
        Ok(())
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if self.elapsed() >= self.limit {
            return t.request_stop(&format!("max_time = \"{}\" has passed", self.max_time));
        }
        Ok(())
    }

    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("seconds", self.elapsed())
    }

    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        self.earlier = state.value("seconds")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_units_and_on_the_clock() {
        let cases = [
            ("90s", Some(90.0)),
            ("0.5m", Some(30.0)),
            ("1h30m", Some(5400.0)),
            ("1d 2h", Some(93_600.0)),
            ("01:00:05", Some(3605.0)),
            ("00:12:00:00", Some(43_200.0)),
            ("30", None),
            ("", None),
            ("0s", None),
            ("5y", None),
            ("1:2:3:4:5", None),
            ("a:b", None),
        ];
        for (text, expected) in cases {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
