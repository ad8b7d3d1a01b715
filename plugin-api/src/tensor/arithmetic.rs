//! `+ - * /` between tensors and numbers. Each returns a `Result`: `(&a * 2.0)?`.

use super::{Tensor, ops};
use crate::error::Result;
use crate::op::Arg;
use std::ops::{Add, Div, Mul, Neg, Sub};

static RSUB: crate::op::CachedOp = crate::op::CachedOp::new("aten::rsub.Scalar");

/// The other side of an operation: a tensor, borrowed or not, or a number.
///
/// A number does not change the dtype of a tensor, except that a float makes an integer tensor a float one,
/// as in PyTorch. `number / x` takes two operators, every other operation one. Each returns a new tensor;
/// `add_` and the others of [`Tensor`] work in place.
///
/// # Errors
/// The shapes cannot be broadcast to each other, or the tensors are on different devices.
pub enum Operand<'a> {
    /// A borrowed tensor. It is still there afterwards: `(&a + &b)?`.
    Tensor(&'a Tensor),
    /// An owned tensor, freed after the operation: `(a + b)?` uses both up. A borrowed handle, such as that
    /// of a parameter, may be used up too, and its tensor stays.
    Owned(Tensor),
    /// A number. A float32 tensor stays float32.
    Float(f64),
    /// An integer: with an integer tensor the result is an integer tensor.
    Int(i64),
}

impl Operand<'_> {
    pub(super) fn is_tensor(&self) -> bool {
        matches!(self, Self::Tensor(_) | Self::Owned(_))
    }

    pub(super) fn arg(&self) -> Arg<'_> {
        match self {
            Self::Tensor(tensor) => Arg::from(*tensor),
            Self::Owned(tensor) => Arg::from(tensor),
            Self::Float(number) => Arg::from(*number),
            Self::Int(number) => Arg::from(*number),
        }
    }
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl From<Tensor> for Operand<'_> {
    fn from(tensor: Tensor) -> Self {
        Self::Owned(tensor)
    }
}

impl From<f64> for Operand<'_> {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<f32> for Operand<'_> {
    fn from(number: f32) -> Self {
        Self::Float(number.into())
    }
}

impl From<i64> for Operand<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<i32> for Operand<'_> {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

impl From<u32> for Operand<'_> {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {
        $(impl<'a, R: Into<Operand<'a>>> $trait<R> for &Tensor {
            type Output = Result<Tensor>;
            fn $method(self, other: R) -> Result<Tensor> {
                Tensor::$method(self, other)
            }
        }
        impl<'a, R: Into<Operand<'a>>> $trait<R> for Tensor {
            type Output = Result<Tensor>;
            fn $method(self, other: R) -> Result<Tensor> {
                Tensor::$method(&self, other)
            }
        })*
    };
}
operators!(Add add, Sub sub, Mul mul, Div div);

/// A number on the left.
macro_rules! numbers {
    ($($number:ty),*) => {
        $(numbers!(@ $number, Add add, |tensor, number| tensor.add(number));
        numbers!(@ $number, Mul mul, |tensor, number| tensor.mul(number));
        numbers!(@ $number, Sub sub, |tensor, number| {
            RSUB.call(tensor.host, &[Arg::from(tensor), Arg::from(number)])?.tensor()
        });
        numbers!(@ $number, Div div, |tensor, number| tensor.reciprocal()?.mul(number));)*
    };
    (@ $number:ty, $trait:ident $method:ident, |$tensor:ident, $value:ident| $body:expr) => {
        impl $trait<&Tensor> for $number {
            type Output = Result<Tensor>;
            fn $method(self, $tensor: &Tensor) -> Result<Tensor> {
                let $value = self;
                $body
            }
        }
        impl $trait<Tensor> for $number {
            type Output = Result<Tensor>;
            fn $method(self, tensor: Tensor) -> Result<Tensor> {
                self.$method(&tensor)
            }
        }
    };
}
numbers!(f64, i64);

/// The negative of each element, one operator.
impl Neg for &Tensor {
    type Output = Result<Tensor>;
    fn neg(self) -> Result<Tensor> {
        ops::neg.call(self.host, &[Arg::from(self)])?.tensor()
    }
}

impl Neg for Tensor {
    type Output = Result<Tensor>;
    fn neg(self) -> Result<Tensor> {
        -&self
    }
}
