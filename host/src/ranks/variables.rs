//! Environment variables, read as numbers and pairs.

use super::RanksError;

/// The environment, or a table in its place.
pub(super) struct Variables<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
}

/// A number that fits into a variable's range.
pub(super) trait Number: TryFrom<u64> {
    /// The smallest value.
    const LOW: u64 = 0;
    /// The largest value.
    const HIGH: u64;
}

impl Number for usize {
    // More than any cluster has, and safe to add and multiply.
    const HIGH: u64 = 1 << 24;
}

impl Number for u32 {
    const HIGH: u64 = u32::MAX as u64;
}

impl Number for u64 {
    // Seconds of a timeout.
    const LOW: u64 = 1;
    const HIGH: u64 = u32::MAX as u64;
}

impl Number for u16 {
    // A port.
    const LOW: u64 = 1;
    const HIGH: u64 = u16::MAX as u64;
}

impl<'a> Variables<'a> {
    pub(super) fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { lookup }
    }

    /// The value of a variable.
    pub(super) fn text(&self, variable: &str) -> Option<String> {
        (self.lookup)(variable)
    }

    pub(super) fn is_set(&self, variable: &str) -> bool {
        self.text(variable).is_some()
    }

    /// The first of several variables that is set, with its name.
    pub(super) fn first(&self, variables: &[&'static str]) -> Option<(&'static str, String)> {
        variables.iter().find_map(|&variable| Some((variable, self.text(variable)?)))
    }

    /// The number in a variable, if it is set.
    pub(super) fn number<N: Number>(
        &self,
        variable: &'static str,
    ) -> Result<Option<N>, RanksError> {
        self.text(variable).map(|value| number(variable, &value)).transpose()
    }

    /// The number in the first of several variables that is set.
    pub(super) fn first_number<N: Number>(
        &self,
        variables: &[&'static str],
    ) -> Result<Option<N>, RanksError> {
        self.first(variables).map(|(variable, value)| number(variable, &value)).transpose()
    }

    /// The number in a variable that must be set, because `given` is.
    pub(super) fn required<N: Number>(
        &self,
        variable: &'static str,
        given: &'static str,
    ) -> Result<N, RanksError> {
        self.number(variable)?.ok_or_else(|| self.missing(variable, given))
    }

    /// The numbers in two variables that are set together or not at all.
    pub(super) fn pair(
        &self,
        first: &'static str,
        second: &'static str,
    ) -> Result<Option<(usize, usize)>, RanksError> {
        match (self.number(first)?, self.number(second)?) {
            (None, None) => Ok(None),
            (Some(a), Some(b)) => Ok(Some((a, b))),
            (Some(_), None) => Err(self.missing(second, first)),
            (None, Some(_)) => Err(self.missing(first, second)),
        }
    }

    pub(super) fn missing(&self, missing: &'static str, given: &'static str) -> RanksError {
        RanksError::Missing { missing, given, value: self.text(given).unwrap_or_default() }
    }
}

fn number<N: Number>(variable: &'static str, value: &str) -> Result<N, RanksError> {
    let number = value.trim().parse().ok().filter(|number| (N::LOW..=N::HIGH).contains(number));
    number.and_then(|number: u64| N::try_from(number).ok()).ok_or_else(|| RanksError::NotANumber {
        variable,
        value: value.to_owned(),
        low: N::LOW,
        high: N::HIGH,
    })
}
