//! What a tensor is, and its numbers in Rust's own memory.

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

/// What a tensor is. Each of these is one short call into the host; none waits for the device.
impl Tensor {
    /// The size of each dimension.
    pub fn shape(&self) -> Result<Vec<i64>> {
        Ok(self.host.view(self.id, 0)?.sizes().to_vec())
    }

    /// How many dimensions there are.
    pub fn dim(&self) -> Result<usize> {
        Ok(self.host.view(self.id, 0)?.sizes().len())
    }

    /// The size of one dimension; a negative one counts from the last.
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

    /// The numbers of its dimensions from `first` on, for a reduction over all but the first ones:
    /// `x.mean_dim(&x.dims(1)?, true)`. Empty where there are no more.
    pub fn dims(&self, first: i64) -> Result<Vec<i64>> {
        Ok((first..i64::try_from(self.dim()?)?).collect())
    }

    /// How many numbers there are.
    pub fn numel(&self) -> Result<usize> {
        Ok(usize::try_from(self.host.view(self.id, 0)?.sizes().iter().product::<i64>())?)
    }

    /// The type of its numbers, such as [`DataType::FLOAT32`].
    pub fn dtype(&self) -> Result<DataType> {
        Ok(self.host.view(self.id, 0)?.dtype)
    }

    /// Where it is: `cpu`, `cuda:0`.
    pub fn device(&self) -> Result<String> {
        let device = self.host.view(self.id, 0)?.device;
        Ok(if device.device_type == 1 {
            "cpu".into()
        } else {
            format!("cuda:{}", device.device_id)
        })
    }
}

/// Its numbers.
impl Tensor {
    /// The numbers as another type; the same tensor where they are of it already.
    pub fn to_dtype(&self, dtype: DataType) -> Result<Tensor> {
        TO_DTYPE
            .call(self.host, &[Arg::from(self), Arg::from(dtype.to_string().as_str())])?
            .tensor()
    }

    /// The same numbers on another device, `cpu` or `cuda:0`; the same tensor where it is there already.
    pub fn to_device(&self, device: &str) -> Result<Tensor> {
        let args = [Arg::from(self), Arg::NONE, Arg::NONE, Arg::from(device)];
        TO.call(self.host, &args)?.tensor()
    }

    /// All numbers in order, in Rust's own memory, as `T`: converted where they are of another type, gathered where they
    /// are not in order, fetched where they are not on the CPU. Copies, and waits for the device.
    /// [`view`](Self::view) borrows instead.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let raw = self.host.view(self.id, 0)?;
        if raw.device.device_type == 1 && raw.dtype == T::DATA_TYPE && raw.is_in_order() {
            return Ok(raw.elements::<T>().to_vec());
        }
        let plain = self.to_device("cpu")?.to_dtype(T::DATA_TYPE)?.contiguous()?;
        Ok(plain.host.view(plain.id, 0)?.elements::<T>().to_vec())
    }

    /// The single number in it, as `T`. Waits for the device.
    ///
    /// # Errors
    /// There is not exactly one.
    pub fn item_as<T: Element>(&self) -> Result<T> {
        match self.to_vec::<T>()?.as_slice() {
            [number] => Ok(*number),
            _ => {
                crate::bail!("a tensor of shape {:?} does not have a single element", self.shape()?)
            }
        }
    }
}

/// Losses that PyTorch has under more than one setting.
impl Tensor {
    /// The mean over rows of the divergence KL(target ‖ self), both of them logarithms of probabilities, such as
    /// `log_softmax` gives: PyTorch's `kl_div` with `reduction="batchmean", log_target=True`.
    ///
    /// `aten::kl_div`
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer rows than 2^53")]
    pub fn kl_div(&self, target: &Tensor) -> Result<Tensor> {
        const SUM: i64 = 2;
        let args = [Arg::from(self), Arg::from(target), Arg::from(SUM), Arg::from(true)];
        KL_DIV.call(self.host, &args)?.tensor()?.div(self.size(0)? as f64)
    }
}

/// Several tensors made into one.
impl Tensor {
    /// Tensors one after the other along a dimension that they have.
    pub fn cat(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
        joined(&CAT, tensors, dim)
    }

    /// Tensors side by side along a new dimension.
    pub fn stack(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
        joined(&STACK, tensors, dim)
    }

    /// A copy that is yours and that no gradient flows into.
    pub fn clone_detached(&self) -> Result<Tensor> {
        super::list::clone_one(self.host, self.id)
    }
}

fn joined(op: &CachedOp, tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
    let Some(first) = tensors.first() else { crate::bail!("{}: no tensors", op.name()) };
    let ids: Vec<_> = tensors.iter().map(|tensor| tensor.id).collect();
    op.call(first.host, &[Arg::handles(&ids), Arg::from(dim)])?.tensor()
}
