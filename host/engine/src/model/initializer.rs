//! How the initial values of a tensor are drawn.

use tch::{Device, Kind, Tensor};

use crate::error::Result;
use hookrack_torch::autograd::GradMode;

/// A way to fill a tensor. With the same seed the values are those of `torch.nn.init`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Initializer {
    /// All 0.
    Zeros,
    /// All 1.
    Ones,
    /// Evenly within ± this bound.
    Uniform(f64),
    /// Normal, around 0 with this deviation.
    Normal(f64),
    /// The same, drawn again beyond ± 2.
    TruncNormal(f64),
    /// Rows or columns at right angles to each other, of this length.
    Orthogonal(f64),
}

impl Initializer {
    /// A new tensor of floats that training does not change.
    pub fn values(self, shape: &[i64], device: Device) -> Result<Tensor> {
        let _no_grad = GradMode::set(false);
        let mut values = Tensor::f_empty(shape, (Kind::Float, device))?;
        Ok(match self {
            Self::Zeros => values.f_zero_()?,
            Self::Ones => values.f_fill_(1.0)?,
            Self::Uniform(bound) => values.f_uniform_(-bound, bound)?,
            Self::Normal(std) => values.f_normal_(0.0, std)?,
            Self::TruncNormal(std) => truncated(&mut values, std)?,
            Self::Orthogonal(gain) => orthogonal(shape, gain, device)?,
        })
    }
}

/// Where PyTorch truncates a normal distribution, whatever its standard deviation.
const CUT: f64 = 2.0;

/// Redraws values beyond the bounds until there are none; each round draws a whole tensor, as PyTorch does.
fn truncated(values: &mut Tensor, std: f64) -> Result<Tensor> {
    let mut values = values.f_normal_(0.0, std)?;
    loop {
        let beyond = values.f_abs()?.f_gt(CUT)?;
        if beyond.f_any()?.f_int64_value(&[])? == 0 {
            return Ok(values);
        }
        let again = values.f_empty_like()?.f_normal_(0.0, std)?;
        values = again.f_where_self(&beyond, &values)?;
    }
}

fn orthogonal(shape: &[i64], gain: f64, device: Device) -> Result<Tensor> {
    let rows = shape.first().copied().unwrap_or(1);
    let columns: i64 = shape.iter().skip(1).product();
    let mut flat = Tensor::f_empty([rows, columns], (Kind::Float, device))?.f_normal_(0.0, 1.0)?;
    if rows < columns {
        flat = flat.f_transpose(0, 1)?;
    }
    let (q, r) = Tensor::f_linalg_qr(&flat, "reduced")?;
    let signs = r.f_diagonal(0, 0, 1)?.f_sign()?;
    let mut q = q.f_mul(&signs)?;
    if rows < columns {
        q = q.f_transpose(0, 1)?;
    }
    Ok(q.f_contiguous()?.f_view(shape)?.f_mul_scalar(gain)?)
}
