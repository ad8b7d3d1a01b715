//! The two decay rates of Adam, its variants and Lion.

/// Two rates in 0..1, or what is wrong with them.
pub(super) fn pair(betas: &[f64]) -> Result<[f64; 2], String> {
    match *betas {
        [first, second] if [first, second].iter().all(|beta| (0.0..1.0).contains(beta)) => {
            Ok([first, second])
        }
        _ => Err(format!("betas = {betas:?}: must be two numbers in 0..1")),
    }
}
