//! The operators of the fake trainer, by libtorch's names.
//!
//! An operator is written once, as a function that gives new tensors. In place (`add_`) its result goes into the first
//! argument; over lists (`_foreach_add_`) it is called for each entry, and absent ones are skipped.

mod elementwise;
mod losses;
mod positions;
mod reduce;
mod shape;

use super::tensor::FakeTensor;
use crate::error::{Error, Result};

/// An argument or a result of an operator.
#[derive(Clone, Debug)]
pub enum FakeValue {
    /// An omitted argument.
    None,
    /// A tensor.
    Tensor(FakeTensor),
    /// A list of tensors; `None` for an absent one, such as the gradient of a frozen parameter.
    Tensors(Vec<Option<FakeTensor>>),
    /// A float.
    Float(f64),
    /// An integer.
    Int(i64),
    /// A boolean.
    Bool(bool),
    /// A string, such as a dtype or a device.
    Text(String),
    /// Integers, such as a shape or dimensions.
    Ints(Vec<i64>),
    /// Floats.
    Floats(Vec<f64>),
}

impl From<FakeTensor> for FakeValue {
    fn from(tensor: FakeTensor) -> Self {
        Self::Tensor(tensor)
    }
}

/// The arguments of an operator call.
pub struct OpArgs<'a> {
    name: &'a str,
    args: &'a [FakeValue],
}

impl<'a> OpArgs<'a> {
    pub(crate) fn new(name: &'a str, args: &'a [FakeValue]) -> Self {
        Self { name, args }
    }

    /// The operator's name, such as `aten::add.Tensor`.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// An argument; [`FakeValue::None`] if it was omitted.
    pub fn get(&self, index: usize) -> &'a FakeValue {
        self.args.get(index).unwrap_or(&FakeValue::None)
    }

    fn wrong<T>(&self, index: usize, wanted: &str) -> Result<T> {
        crate::bail!("{}: argument {index} is not {wanted}: {:?}", self.name, self.get(index))
    }

    /// An argument that is a tensor.
    pub fn tensor(&self, index: usize) -> Result<&'a FakeTensor> {
        match self.get(index) {
            FakeValue::Tensor(tensor) => Ok(tensor),
            _ => self.wrong(index, "a tensor"),
        }
    }

    /// An argument that is a number.
    #[expect(clippy::cast_precision_loss, reason = "small numbers alone go through a test")]
    pub fn number(&self, index: usize) -> Result<f64> {
        match self.get(index) {
            FakeValue::Float(number) => Ok(*number),
            FakeValue::Int(number) => Ok(*number as f64),
            FakeValue::Bool(truth) => Ok(f64::from(*truth)),
            _ => self.wrong(index, "a number"),
        }
    }

    /// An argument that is an integer.
    pub fn int(&self, index: usize) -> Result<i64> {
        match self.get(index) {
            FakeValue::Int(number) => Ok(*number),
            _ => self.wrong(index, "a whole number"),
        }
    }

    /// An argument that is a list of integers.
    pub fn ints(&self, index: usize) -> Result<&'a [i64]> {
        match self.get(index) {
            FakeValue::Ints(numbers) => Ok(numbers),
            _ => self.wrong(index, "a list of whole numbers"),
        }
    }

    /// An argument that is a list of tensors, all of them present.
    pub fn tensors(&self, index: usize) -> Result<Vec<&'a FakeTensor>> {
        match self.get(index) {
            FakeValue::Tensors(tensors) => Ok(tensors.iter().flatten().collect()),
            _ => self.wrong(index, "a list of tensors"),
        }
    }

    /// Whether an argument was omitted.
    pub fn is_absent(&self, index: usize) -> bool {
        matches!(self.get(index), FakeValue::None)
    }

    fn number_or(&self, index: usize, default: f64) -> Result<f64> {
        if self.is_absent(index) { Ok(default) } else { self.number(index) }
    }

    fn int_or(&self, index: usize, default: i64) -> Result<i64> {
        if self.is_absent(index) { Ok(default) } else { self.int(index) }
    }

    fn flag(&self, index: usize) -> Result<bool> {
        Ok(self.number_or(index, 0.0)? != 0.0)
    }

    /// A tensor, or a number as a 0-dim tensor.
    fn operand(&self, index: usize) -> Result<elementwise::Operand<'a>> {
        match self.get(index) {
            FakeValue::Tensor(tensor) => Ok(elementwise::Operand::Tensor(tensor)),
            FakeValue::Int(_) | FakeValue::Bool(_) => {
                Ok(elementwise::Operand::Number(self.number(index)?, false))
            }
            _ => Ok(elementwise::Operand::Number(self.number(index)?, true)),
        }
    }
}

/// What an operator does.
pub(crate) type Implementation = fn(&OpArgs<'_>) -> Result<Vec<FakeValue>>;

/// The parsed name of an operator.
struct Name<'a> {
    base: &'a str,
    overload: &'a str,
    in_place: bool,
    over_lists: bool,
}

impl<'a> Name<'a> {
    fn of(name: &'a str) -> Self {
        let name = name.strip_prefix("aten::").unwrap_or(name);
        let (base, overload) = name.split_once('.').unwrap_or((name, ""));
        let (over_lists, base) = match base.strip_prefix("_foreach_") {
            Some(base) => (true, base),
            None => (false, base),
        };
        let (in_place, base) = match base.strip_suffix('_') {
            Some(base) => (true, base),
            None => (false, base),
        };
        Self { base, overload, in_place, over_lists }
    }

    fn implementation(&self) -> Option<Implementation> {
        let tables = [elementwise::OPS, reduce::OPS, shape::OPS, positions::OPS, losses::OPS];
        let named = |name: &str| {
            let mut rows = tables.iter().flat_map(|table| table.iter());
            rows.find(|(own, _)| *own == name).map(|(_, implementation)| *implementation)
        };
        let full = format!("{}.{}", self.base, self.overload);
        named(&full).or_else(|| named(self.base))
    }
}

/// Whether the fake trainer has an operator of its own under this name.
pub(crate) fn is_known(name: &str) -> bool {
    Name::of(name).implementation().is_some()
}

/// The tensors that an operator writes to: those of its first argument, if its name ends in `_`.
pub(crate) fn written<'a>(
    name: &str,
    args: &'a [FakeValue],
) -> impl Iterator<Item = &'a FakeTensor> {
    let (one, all) = match args.first().filter(|_| Name::of(name).in_place) {
        Some(FakeValue::Tensor(tensor)) => (Some(tensor), &[][..]),
        Some(FakeValue::Tensors(tensors)) => (None, &tensors[..]),
        _ => (None, &[][..]),
    };
    one.into_iter().chain(all.iter().flatten())
}

/// Calls an operator.
pub(crate) fn call(name: &str, args: &[FakeValue]) -> Result<Vec<FakeValue>> {
    let parsed = Name::of(name);
    let implementation = parsed.implementation().ok_or_else(|| unknown(name))?;
    let one = |args: &[FakeValue]| -> Result<Vec<FakeValue>> {
        let args = OpArgs { name, args };
        let results = implementation(&args).map_err(|error| named(name, &error))?;
        if !parsed.in_place {
            return Ok(results);
        }
        let own = args.tensor(0)?;
        let Some(FakeValue::Tensor(result)) = results.first() else {
            crate::bail!("{name} did not return a tensor");
        };
        let (is, becomes) = (own.dtype(), result.dtype());
        let converts = ["copy", "fill"].contains(&parsed.base);
        crate::ensure!(
            converts || is.code == 2 || becomes.code != 2,
            "{name}: the result, of {becomes}, cannot be stored as {is}"
        );
        own.assign(result).map_err(|error| named(name, &error))?;
        Ok(vec![FakeValue::Tensor(own.clone())])
    };
    if parsed.over_lists { over_lists(args, &one) } else { one(args) }
}

/// The error for an operator that the fake trainer does not have.
pub(crate) fn unknown(name: &str) -> Error {
    Error::new(format!(
        "the fake trainer has no operator `{name}`: give it one with FakeTrainer::op({name:?}, |args| …)"
    ))
}

fn named(name: &str, error: &Error) -> Error {
    let text = error.to_string();
    if text.starts_with(name) { Error::new(text) } else { Error::new(format!("{name}: {text}")) }
}

/// Calls an operator for each index of its lists.
fn over_lists(
    args: &[FakeValue],
    one: &dyn Fn(&[FakeValue]) -> Result<Vec<FakeValue>>,
) -> Result<Vec<FakeValue>> {
    let mut lengths = args.iter().filter_map(|arg| match arg {
        FakeValue::Tensors(list) => Some(list.len()),
        _ => None,
    });
    let length = lengths.next().unwrap_or(0);
    crate::ensure!(lengths.all(|other| other == length), "lists of different lengths");
    let mut results = Vec::with_capacity(length);
    for place in 0..length {
        let here = args.iter().map(|arg| match arg {
            FakeValue::Tensors(list) => list[place].clone().map(FakeValue::Tensor),
            FakeValue::Floats(numbers) => numbers.get(place).copied().map(FakeValue::Float),
            other => Some(other.clone()),
        });
        let Some(here) = here.collect::<Option<Vec<_>>>() else {
            results.push(None);
            continue;
        };
        results.push(match one(&here)?.into_iter().next() {
            Some(FakeValue::Tensor(tensor)) => Some(tensor),
            _ => None,
        });
    }
    Ok(vec![FakeValue::Tensors(results)])
}
