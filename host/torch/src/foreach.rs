//! Operations on every tensor of a list in one call. Gradients are never recorded here.

use std::ptr;
use std::sync::OnceLock;

use tch::Tensor;

use super::autograd::GradMode;
use super::error::check;
use super::{Arg, Op, Result, Return, Returns, TensorList, TorchError, ffi};

/// A list operator of libtorch's by name, looked up at its first call.
#[derive(Debug)]
pub struct ListOp {
    name: &'static str,
    found: OnceLock<Op>,
}

impl ListOp {
    /// Names the operator, for example `aten::_foreach_mul_.Scalar`.
    pub const fn new(name: &'static str) -> Self {
        Self { name, found: OnceLock::new() }
    }

    /// Calls it for its effect.
    pub fn run(&self, args: &[Arg<'_>]) -> Result<()> {
        let _no_grad = GradMode::set(false);
        self.op()?.run(args)
    }

    /// Calls it for the list that it returns.
    pub fn list(&self, args: &[Arg<'_>]) -> Result<TensorList> {
        let _no_grad = GradMode::set(false);
        let mut returns = Returns::default();
        self.op()?.call(args, &mut returns)?;
        match returns.take(0) {
            Return::List(list) => Ok(list),
            other => Err(TorchError::new(&format!("{} returned no list but {other:?}", self.name))),
        }
    }

    fn op(&self) -> Result<&Op> {
        if let Some(op) = self.found.get() {
            return Ok(op);
        }
        let op = Op::find(self.name)?;
        Ok(self.found.get_or_init(|| op))
    }
}

/// The p-norm over everything in the list, as a 0-dim tensor: no value is read, so this does not synchronize.
pub fn norm(list: &TensorList, p: f64) -> Result<Tensor> {
    let mut out = ptr::null_mut();
    // SAFETY: the list lives through the call; on success `out` is a new tensor that is ours.
    unsafe {
        check(ffi::hrt_list_norm(list.as_raw(), p, &raw mut out))?;
        Ok(Tensor::from_ptr(out))
    }
}

/// Multiplies every tensor by a number.
pub fn mul_(list: &TensorList, factor: f64) -> Result<()> {
    // SAFETY: the list lives through the call.
    unsafe { check(ffi::hrt_list_mul_scalar(list.as_raw(), factor)) }
}

/// Multiplies every tensor by a 0-dim tensor, without reading its value.
pub fn mul_tensor_(list: &TensorList, factor: &Tensor) -> Result<()> {
    // SAFETY: both live through the call.
    unsafe { check(ffi::hrt_list_mul_tensor(list.as_raw(), factor.as_ptr())) }
}

/// Sets every tensor to zero.
pub fn zero_(list: &TensorList) -> Result<()> {
    // SAFETY: the list lives through the call.
    unsafe { check(ffi::hrt_list_zero(list.as_raw())) }
}

/// Moves every tensor toward its partner: `x += weight * (partner - x)`.
pub fn lerp_(list: &TensorList, toward: &TensorList, weight: f64) -> Result<()> {
    // SAFETY: both live through the call.
    unsafe { check(ffi::hrt_list_lerp(list.as_raw(), toward.as_raw(), weight)) }
}

/// Copies the values of each partner.
pub fn copy_(list: &TensorList, source: &TensorList) -> Result<()> {
    // SAFETY: both live through the call.
    unsafe { check(ffi::hrt_list_copy(list.as_raw(), source.as_raw())) }
}

/// Copies of all tensors, outside any gradient graph.
pub fn clone_detached(list: &TensorList) -> Result<TensorList> {
    let mut out = ptr::null_mut();
    // SAFETY: the list lives through the call; on success `out` is a new list that is ours.
    unsafe {
        check(ffi::hrt_list_clone_detached(list.as_raw(), &raw mut out))?;
        Ok(TensorList::from_raw(out))
    }
}

/// What a list operator takes.
trait AsArg {
    fn arg(&self) -> Arg<'_>;
}

impl AsArg for &TensorList {
    fn arg(&self) -> Arg<'_> {
        Arg::list(self)
    }
}

impl AsArg for f64 {
    fn arg(&self) -> Arg<'_> {
        Arg::float(*self)
    }
}

impl AsArg for &[f64] {
    fn arg(&self) -> Arg<'_> {
        Arg::floats(self)
    }
}

/// Functions that each call an operator on a list: `run` changes its tensors, `list` returns new ones.
macro_rules! list_ops {
    ($($(#[$doc:meta])+ $kind:ident $name:ident($($arg:ident: $ty:ty),*) $(-> $out:ty)? = $op:literal;)+) => { $(
        $(#[$doc])+
        pub fn $name(list: &TensorList $(, $arg: $ty)*) -> Result<list_ops!(@out $($out)?)> {
            static OP: ListOp = ListOp::new($op);
            OP.$kind(&[Arg::list(list) $(, $arg.arg())*])
        }
    )+ };
    (@out) => { () };
    (@out $out:ty) => { $out };
}

list_ops! {
    /// Adds a number to every tensor.
    run add_scalar_(number: f64) = "aten::_foreach_add_.Scalar";
    /// Adds each partner: `x += alpha * partner`.
    run add_(other: &TensorList, alpha: f64) = "aten::_foreach_add_.List";
    /// New tensors `x + alpha * partner`.
    list add(other: &TensorList, alpha: f64) -> TensorList = "aten::_foreach_add.List";
    /// Multiplies each tensor by its partner, which may be 0-dim.
    run mul_list_(other: &TensorList) = "aten::_foreach_mul_.List";
    /// Divides each tensor by its number.
    run div_each_(numbers: &[f64]) = "aten::_foreach_div_.ScalarList";
    /// Adds products: `x += value * left * right`.
    run addcmul_(left: &TensorList, right: &TensorList, value: f64) = "aten::_foreach_addcmul_.Scalar";
    /// New tensors `x + value * left * right`.
    list addcmul(left: &TensorList, right: &TensorList, value: f64) -> TensorList = "aten::_foreach_addcmul.Scalar";
    /// Adds quotients: `x += value * top / bottom`.
    run addcdiv_(top: &TensorList, bottom: &TensorList, value: f64) = "aten::_foreach_addcdiv_.Scalar";
    /// New tensors `x + weight * (partner - x)`.
    list lerp(toward: &TensorList, weight: f64) -> TensorList = "aten::_foreach_lerp.Scalar";
    /// New tensors with the square roots.
    list sqrt() -> TensorList = "aten::_foreach_sqrt";
    /// Takes square roots in place.
    run sqrt_() = "aten::_foreach_sqrt_";
    /// Replaces every number by its inverse.
    run reciprocal_() = "aten::_foreach_reciprocal_";
    /// Replaces every number by -1, 0 or 1.
    run sign_() = "aten::_foreach_sign_";
    /// New tensors with the signs flipped.
    list neg() -> TensorList = "aten::_foreach_neg";
}

/// Clamps every element to `-limit..=limit`; NaN stays.
pub fn clamp_(list: &TensorList, limit: f64) -> Result<()> {
    static LEAST: ListOp = ListOp::new("aten::_foreach_clamp_min_.Scalar");
    static MOST: ListOp = ListOp::new("aten::_foreach_clamp_max_.Scalar");
    LEAST.run(&[Arg::list(list), Arg::float(-limit)])?;
    MOST.run(&[Arg::list(list), Arg::float(limit)])
}

/// The p-norm of each tensor alone, as one 1-dim tensor: no value is read, so this does not synchronize.
pub fn norms(list: &TensorList, p: f64) -> Result<Tensor> {
    static OP: ListOp = ListOp::new("aten::_foreach_norm.Scalar");
    let norms: Vec<Tensor> = OP.list(&[Arg::list(list), Arg::float(p)])?.iter().collect();
    Ok(Tensor::f_stack(&norms, 0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(values: &[&[f32]]) -> TensorList {
        values.iter().map(|row| Tensor::from_slice(row).set_requires_grad(true)).collect()
    }

    fn row(list: &TensorList, index: usize) -> Vec<f32> {
        Vec::try_from(list.tensor(index).unwrap().detach()).unwrap()
    }

    #[test]
    fn norm_is_over_the_whole_list() {
        let found = |p| norm(&list(&[&[3.0], &[4.0, -12.0]]), p).unwrap().double_value(&[]);
        assert!((found(2.0) - 13.0).abs() < 1e-6);
        assert!((found(1.0) - 19.0).abs() < 1e-6);
        assert!((found(f64::INFINITY) - 12.0).abs() < 1e-6);
        assert!(norm(&list(&[]), 2.0).unwrap().double_value(&[]).abs() < 1e-12);
    }

    #[test]
    fn leaves_that_require_gradients_are_changed_in_place() {
        let (x, y) = (list(&[&[0.0], &[1.0, 2.0]]), list(&[&[4.0], &[3.0, 4.0]]));
        lerp_(&x, &y, 0.25).unwrap();
        assert_eq!((row(&x, 0), row(&x, 1)), (vec![1.0], vec![1.5, 2.5]));
        mul_(&x, 2.0).unwrap();
        mul_tensor_(&x, &Tensor::from(10.0_f32)).unwrap();
        assert_eq!(row(&x, 1), [30.0, 50.0]);
        let kept = clone_detached(&x).unwrap();
        copy_(&x, &y).unwrap();
        assert_eq!((row(&x, 1), row(&kept, 1)), (vec![3.0, 4.0], vec![30.0, 50.0]));
        zero_(&x).unwrap();
        assert_eq!(row(&x, 1), [0.0, 0.0]);
    }

    #[test]
    fn lists_of_different_length_are_refused() {
        let error = copy_(&list(&[&[0.0]]), &list(&[])).unwrap_err();
        assert_eq!(error.text(), "lists differ in length: 1 and 0");
    }

    #[test]
    fn named_operators_change_in_place_or_make_new_tensors() {
        let (x, y) = (list(&[&[4.0], &[9.0, 16.0]]), list(&[&[1.0], &[-2.0, 3.0]]));
        assert_eq!(row(&add(&x, &y, 2.0).unwrap(), 1), [5.0, 22.0]);
        assert_eq!(row(&lerp(&x, &y, 0.5).unwrap(), 1), [3.5, 9.5]);
        assert_eq!(row(&addcmul(&x, &y, &y, -1.0).unwrap(), 1), [5.0, 7.0]);
        assert_eq!(row(&sqrt(&x).unwrap(), 1), [3.0, 4.0]);
        assert_eq!(row(&neg(&y).unwrap(), 1), [2.0, -3.0]);
        assert_eq!(row(&x, 1), [9.0, 16.0]);
        assert!(!neg(&y).unwrap().tensor(0).unwrap().requires_grad());
        div_each_(&x, &[2.0, 0.5]).unwrap();
        assert_eq!((row(&x, 0), row(&x, 1)), (vec![2.0], vec![18.0, 32.0]));
        let factors: TensorList = [Tensor::from(3.0_f32), Tensor::from(0.5_f32)].iter().collect();
        mul_list_(&x, &factors).unwrap();
        assert_eq!((row(&x, 0), row(&x, 1)), (vec![6.0], vec![9.0, 16.0]));
        let norms: Vec<f32> =
            Vec::try_from(norms(&list(&[&[3.0, 4.0], &[-2.0]]), 2.0).unwrap()).unwrap();
        assert_eq!(norms, [5.0, 2.0]);
    }

    #[test]
    fn an_operator_that_is_not_there_is_an_error() {
        let error = ListOp::new("aten::_foreach_nothing").run(&[]).unwrap_err();
        assert!(error.text().starts_with("no operator named `aten::_foreach_nothing`"));
    }
}
