//! Shape, dtype and device of a tensor, and its elements as Rust values.

use super::Tensor;
use crate::abi::DataType;
use crate::error::Result;
use crate::op::{Arg, CachedOp};
use crate::view::Element;

static TO_DTYPE: CachedOp = CachedOp::new("aten::to.dtype");
static TO: CachedOp = CachedOp::new("aten::to.dtype_layout");
static CAT: CachedOp = CachedOp::new("aten::cat");
static STACK: CachedOp = CachedOp::new("aten::stack");
static KL_DIV: CachedOp = CachedOp::new("aten::kl_div");

/// Shape, dtype and device. Each of these is one short call to the host; none waits for the device.
///
/// An error for a tensor without dense memory, such as a sparse or quantized one. Each counts as borrowing
/// the memory, as [`view`](Self::view): until the current point returns, operators that would resize the
/// tensor are refused.
impl Tensor {
    /// Returns the size of each dimension; empty for a scalar tensor. Allocates.
    pub fn shape(&self) -> Result<Vec<i64>> {
        Ok(self.host.view(self.id, 0)?.sizes().to_vec())
    }

    /// Returns the number of dimensions.
    pub fn dim(&self) -> Result<usize> {
        Ok(self.host.view(self.id, 0)?.sizes().len())
    }

    /// Returns the size of one dimension; a negative one counts from the last. Allocates the whole shape.
    ///
    /// # Errors
    /// The dimension is out of range.
    pub fn size(&self, dim: i64) -> Result<i64> {
        let shape = self.shape()?;
        let index = if dim < 0 { dim + i64::try_from(shape.len())? } else { dim };
        let size = usize::try_from(index).ok().and_then(|index| shape.get(index));
        match size {
            Some(size) => Ok(*size),
            None => crate::bail!("a tensor of shape {shape:?} has no dimension {dim}"),
        }
    }

    /// Returns the indices of the dimensions from `first` on, to reduce over all but the first ones:
    /// `x.mean_dim(&x.dims(1)?, true)`. Empty if there are none: `sum_dim` and `mean_dim` reduce over all
    /// dimensions then.
    pub fn dims(&self, first: i64) -> Result<Vec<i64>> {
        Ok((first..i64::try_from(self.dim()?)?).collect())
    }

    /// Returns the number of elements.
    pub fn numel(&self) -> Result<usize> {
        Ok(usize::try_from(self.host.view(self.id, 0)?.sizes().iter().product::<i64>())?)
    }

    /// Returns the dtype, such as [`DataType::FLOAT32`].
    pub fn dtype(&self) -> Result<DataType> {
        Ok(self.host.view(self.id, 0)?.dtype)
    }

    /// Returns the device: `cpu` or `cuda:0`. Allocates.
    pub fn device(&self) -> Result<String> {
        let device = self.host.view(self.id, 0)?.device;
        Ok(if device.device_type == 1 {
            "cpu".into()
        } else {
            format!("cuda:{}", device.device_id)
        })
    }
}

/// Conversions, and the elements.
impl Tensor {
    /// Returns the tensor converted to another dtype; the same tensor if it already has it.
    ///
    /// The conversion is one operator and does not wait for the device; gradients flow through it. A float
    /// loses its fraction in an integer dtype.
    ///
    /// # Errors
    /// libtorch does not have the dtype.
    pub fn to_dtype(&self, dtype: DataType) -> Result<Tensor> {
        TO_DTYPE
            .call(self.host, &[Arg::from(self), Arg::from(dtype.to_string().as_str())])?
            .tensor()
    }

    /// Returns the tensor on another device, `cpu` or `cuda:0`; the same tensor if it is already there. A
    /// copy to the CPU waits for the device.
    ///
    /// # Errors
    /// The device does not exist, or this libtorch cannot use it.
    pub fn to_device(&self, device: &str) -> Result<Tensor> {
        let args = [Arg::from(self), Arg::NONE, Arg::NONE, Arg::from(device)];
        TO.call(self.host, &args)?.tensor()
    }

    /// Returns all elements in row-major order as a `Vec<T>`, converted if the dtype differs. Copies, and
    /// waits for the device. [`view`](Self::view) borrows instead.
    ///
    /// On the CPU, with the same dtype and contiguous, it is one copy of the memory. Otherwise the tensor is
    /// moved, converted and made contiguous before, with a call for each.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let raw = self.host.view(self.id, 0)?;
        if raw.device.device_type == 1 && raw.dtype == T::DATA_TYPE && raw.is_in_order() {
            return Ok(raw.elements::<T>().to_vec());
        }
        let plain = self.to_device("cpu")?.to_dtype(T::DATA_TYPE)?.contiguous()?;
        Ok(plain.host.view(plain.id, 0)?.elements::<T>().to_vec())
    }

    /// Returns the value of a tensor with one element, as `T`. Waits for the device.
    ///
    /// An integer keeps all its digits, while [`item`](Self::item) rounds one beyond 2^53.
    ///
    /// # Errors
    /// The tensor does not have exactly one element.
    pub fn item_as<T: Element>(&self) -> Result<T> {
        match self.to_vec::<T>()?.as_slice() {
            [number] => Ok(*number),
            _ => {
                crate::bail!("a tensor of shape {:?} does not have a single element", self.shape()?)
            }
        }
    }
}

/// Losses with one fixed setting of PyTorch's.
impl Tensor {
    /// Returns the Kullback-Leibler divergence KL(target ‖ self), averaged over rows; both are
    /// log-probabilities, such as the result of `log_softmax`. PyTorch's `kl_div` with
    /// `reduction="batchmean", log_target=True`.
    ///
    /// Two operators; does not wait for the device.
    ///
    /// `aten::kl_div`
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer rows than 2^53")]
    pub fn kl_div(&self, target: &Tensor) -> Result<Tensor> {
        const SUM: i64 = 2;
        let args = [Arg::from(self), Arg::from(target), Arg::from(SUM), Arg::from(true)];
        KL_DIV.call(self.host, &args)?.tensor()?.div(self.size(0)? as f64)
    }
}

/// Concatenation and copies. Each allocates a new tensor and does not wait for the device.
impl Tensor {
    /// Concatenates tensors along an existing dimension.
    ///
    /// # Errors
    /// The list is empty, or the other dimensions differ.
    pub fn cat(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
        joined(&CAT, tensors, dim)
    }

    /// Concatenates tensors along a new dimension.
    ///
    /// # Errors
    /// The list is empty, or the shapes differ.
    pub fn stack(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
        joined(&STACK, tensors, dim)
    }

    /// Returns a copy without gradients, which belongs to the caller.
    ///
    /// It may be changed in place by every hook, whatever it is a copy of.
    ///
    /// # Errors
    /// There is no tensor, or not enough memory.
    pub fn clone_detached(&self) -> Result<Tensor> {
        super::list::clone_one(self.host, self.id)
    }
}

fn joined(op: &CachedOp, tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
    let Some(first) = tensors.first() else { crate::bail!("{}: no tensors", op.name()) };
    let ids: Vec<_> = tensors.iter().map(|tensor| tensor.id).collect();
    op.call(first.host, &[Arg::handles(&ids), Arg::from(dim)])?.tensor()
}
