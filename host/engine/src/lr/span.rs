//! Lengths and positions in a run, as steps or as fractions of it.

use super::shape::real;

/// The number of warm-up steps, as [`rise_unchecked`], with a warning if the schedule ends before they do.
pub(super) fn rise(key: &str, steps: u64, ratio: Option<f64>, total: u64) -> Result<u64, String> {
    let steps = rise_unchecked(key, steps, ratio, total)?;
    // As in the libraries that the schedules come from, the rate rises as written, whatever the length.
    if steps > total {
        tracing::warn!(
            "lr_scheduler: {key} = {steps} is more than the {total} steps of the schedule: the learning rate never reaches its full value"
        );
    }
    Ok(steps)
}

/// The number of warm-up steps: given as such, or as a fraction of the run, rounded up as in LiBai and Hugging Face.
pub(super) fn rise_unchecked(
    key: &str,
    steps: u64,
    ratio: Option<f64>,
    total: u64,
) -> Result<u64, String> {
    match ratio {
        None => Ok(steps),
        Some(_) if steps > 0 => {
            Err(format!("both {key} = {steps} and warmup_ratio are set: keep one of them"))
        }
        Some(ratio) => Ok(whole(real(total) * ratio, f64::ceil)),
    }
}

/// Steps of the run. Numbers below 1 are fractions of it, rounded down as in LiBai; all others are steps. A
/// list must not mix the two.
pub(super) fn milestones(key: &str, written: &[f64], total: u64) -> Result<Vec<u64>, String> {
    let is_share = |number: f64| number > 0.0 && number < 1.0;
    let step = |number: f64| match number {
        _ if number < 0.0 => Err(format!("{key} has {number}: must be at least 0")),
        _ if is_share(number) => Ok(whole(real(total) * number, f64::floor)),
        _ if number.fract() == 0.0 => Ok(whole(number, f64::round)),
        _ => Err(format!("{key} has {number}: must be a whole number, or a fraction below 1")),
    };
    let steps = written.iter().map(|number| step(*number)).collect();
    let has = |kind: &dyn Fn(f64) -> bool| written.iter().any(|number| kind(*number));
    if has(&is_share) && has(&|number| number >= 1.0) {
        return Err(format!("{key} = {written:?} mixes steps and fractions of the run: use one"));
    }
    steps
}

/// A number of steps. One that is an integer but for rounding errors, such as 0.07 of 100, is taken as that integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; a cast from a float saturates"
)]
fn whole(steps: f64, otherwise: fn(f64) -> f64) -> u64 {
    let nearest = steps.round();
    let is_whole = (steps - nearest).abs() <= 4.0 * f64::EPSILON * nearest.abs();
    (if is_whole { nearest } else { otherwise(steps) }) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_rise_is_rounded_up_and_rounding_errors_do_not_count() {
        let steps = |ratio, total| rise_unchecked("warmup_steps", 0, Some(ratio), total).unwrap();
        assert_eq!([steps(0.1, 60), steps(0.1, 61), steps(0.0, 60), steps(1.0, 60)], [6, 7, 0, 60]);
        // In floats 0.07 * 100 is a little more than 7.
        assert_eq!([steps(0.07, 100), steps(0.29, 100)], [7, 29]);
        assert_eq!(rise_unchecked("warmup_steps", 5, None, 60), Ok(5));
        let both = rise_unchecked("num_warmup_steps", 5, Some(0.1), 60).unwrap_err();
        assert_eq!(both, "both num_warmup_steps = 5 and warmup_ratio are set: keep one of them");
    }

    #[test]
    fn a_milestone_below_1_is_a_share_of_the_run_and_rounded_down() {
        let steps = |written: &[f64]| milestones("milestones", written, 60);
        assert_eq!(steps(&[0.0, 0.5, 0.99]), Ok(vec![0, 30, 59]));
        assert_eq!(steps(&[0.0, 1.0, 45.0]), Ok(vec![0, 1, 45]));
        assert!(steps(&[0.5, 45.0]).unwrap_err().contains("mixes steps and fractions"));
        // In floats 0.29 * 100 is a little less than 29.
        assert_eq!(milestones("milestones", &[0.29, 0.57], 100), Ok(vec![29, 57]));
        assert!(steps(&[1.5]).unwrap_err().contains("milestones has 1.5"));
        assert!(steps(&[-1.0]).unwrap_err().contains("must be at least 0"));
    }
}
