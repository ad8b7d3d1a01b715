//! Round numbers along an axis, and how they are written.

/// About five round numbers from `start` to `end`; whole ones where an axis counts something.
pub(crate) fn ticks(start: f64, end: f64, whole: bool) -> Vec<f64> {
    let rough = (end - start) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let gap = [1.0, 2.0, 5.0, 10.0].map(|part| part * power).into_iter().find(|gap| *gap >= rough);
    let gap = gap.unwrap_or(rough);
    let gap = if whole { gap.max(1.0) } else { gap };
    let first = (start / gap - 1e-6).ceil();
    // The axis' own end may be off a tick by rounding alone.
    (0..=10u32)
        .map(|index| (first + f64::from(index)) * gap)
        .take_while(|tick| *tick <= end + (end - start) * 1e-6)
        .collect()
}

/// The powers of 10 from `start` to `end`.
pub(crate) fn decades(start: f64, end: f64) -> Vec<(f64, String)> {
    let (first, last) = (start.log10() - 1e-6, end.log10() + 1e-6);
    let exponents = (-308..=308).filter(|exponent| (first..=last).contains(&f64::from(*exponent)));
    exponents.map(|exponent| (10_f64.powi(exponent), format!("1e{exponent}"))).collect()
}

/// A round number in few characters.
pub fn label(tick: f64) -> String {
    // A zero with a rounding error is far smaller than any gap between ticks.
    if tick.abs() < 1e-12 {
        return "0".to_owned();
    }
    if (1e-3..1e7).contains(&tick.abs()) {
        let text = format!("{tick:.6}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{tick:.1e}").replace(".0e", "e")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        let labels =
            |start, end, whole| ticks(start, end, whole).into_iter().map(label).collect::<Vec<_>>();
        assert_eq!(labels(0.0, 0.005, false), ["0", "0.001", "0.002", "0.003", "0.004", "0.005"]);
        assert_eq!(labels(0.0, 3e-5, false), ["0", "1e-5", "2e-5", "3e-5"]);
        assert_eq!(labels(0.0, 459.0, true), ["0", "100", "200", "300", "400"]);
        assert_eq!(labels(0.0, 1.0, true), ["0", "1"]);
        assert_eq!(labels(0.83, 0.99, false), ["0.85", "0.9", "0.95"]);
        assert_eq!(labels(-1.0, 1.0, false), ["-1", "-0.5", "0", "0.5", "1"]);
        let powers: Vec<String> = decades(1e-5, 0.3).into_iter().map(|(_, text)| text).collect();
        assert_eq!(powers, ["1e-5", "1e-4", "1e-3", "1e-2", "1e-1"]);
    }
}
