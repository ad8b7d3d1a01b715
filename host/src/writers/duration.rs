//! Human-readable durations.

use std::time::Duration;

/// `12.3 ms`, `0.8 s`, `42 s`, `3:07`, `2:03:04`.
pub fn human(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time.subsec_millis() < 100 => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_a_clock() {
        let text = |seconds| human(Duration::from_secs_f64(seconds));
        assert_eq!(text(0.0123), "12.3 ms");
        assert_eq!(text(0.84), "0.8 s");
        assert_eq!(text(42.9), "42 s");
        assert_eq!(text(187.0), "3:07");
        assert_eq!(text(7384.0), "2:03:04");
    }
}
