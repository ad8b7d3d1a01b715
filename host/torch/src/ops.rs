//! Any ATen operator by its name: found once, then called through libtorch's dispatcher.
//!
//! Whether gradients are recorded is the caller's concern (see [`GradMode`](super::autograd::GradMode)).

use std::ptr::{self, NonNull};

use tch::Tensor;

use super::error::{check, take_text};
use super::ffi;
use super::{Arg, Result, Returns};

/// An operator that was found by name.
#[derive(Debug)]
pub struct Op {
    raw: NonNull<ffi::RawOp>,
}

/// What a call of an operator does to its arguments: a bit for each of the first 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The arguments that it writes to.
    pub written: u64,
    /// The arguments that a result may share memory with, those that it writes to included.
    pub shared: u64,
    /// Whether it can give a tensor other memory or another shape, as `resize_`, `set_` and `out=` do.
    pub moves: bool,
}

/// What a tensor's memory is known by, in this process and while it is in use; 0 if it has none. Views of one tensor have the same.
pub fn storage_of(tensor: &Tensor) -> usize {
    // SAFETY: the tensor lives until the call returns.
    unsafe { ffi::hrt_tensor_storage(tensor.as_ptr()) }
}

// SAFETY: the shim's object is read only after it was made, and libtorch's dispatcher may be used from
// any thread.
unsafe impl Send for Op {}
// SAFETY: as above.
unsafe impl Sync for Op {}

impl Op {
    /// Finds an operator, for example `aten::lerp_.Scalar`: name space, name, and overload if it has one.
    pub fn find(name: &str) -> Result<Self> {
        super::start();
        let mut raw = ptr::null_mut();
        // SAFETY: the name's bytes live until the call returns, and `raw` is written only on success.
        unsafe { check(ffi::hrt_op_find(name.as_ptr().cast(), name.len(), &raw mut raw))? };
        NonNull::new(raw)
            .map(|raw| Self { raw })
            .ok_or_else(|| super::TorchError::new("an operator was found but not handed over"))
    }

    /// The number of arguments of the schema, including those with defaults.
    pub fn arguments(&self) -> usize {
        // SAFETY: `raw` lives as long as `self`.
        unsafe { ffi::hrt_op_arguments(self.raw.as_ptr()) }
    }

    /// The number of results of a call.
    pub fn returns(&self) -> usize {
        // SAFETY: `raw` lives as long as `self`.
        unsafe { ffi::hrt_op_returns(self.raw.as_ptr()) }
    }

    /// What a call does to its arguments, by the schema.
    pub fn effects(&self) -> Effects {
        let (mut written, mut shared, mut moves) = (0, 0, 0);
        // SAFETY: `raw` lives as long as `self`; the shim writes one number to each place.
        unsafe {
            ffi::hrt_op_effects(
                self.raw.as_ptr(),
                &raw mut written,
                &raw mut shared,
                &raw mut moves,
            );
        }
        Effects { written, shared, moves: moves != 0 }
    }

    /// The schema in libtorch's own notation.
    pub fn schema(&self) -> Result<String> {
        let mut text = ptr::null_mut();
        // SAFETY: `raw` lives as long as `self`; the text is ours on success.
        unsafe {
            check(ffi::hrt_op_schema(self.raw.as_ptr(), &raw mut text))?;
            Ok(take_text(text))
        }
    }

    /// Calls the operator. Arguments are in the schema's order; trailing ones may be omitted if the
    /// schema has defaults.
    pub fn call(&self, args: &[Arg<'_>], returns: &mut Returns) -> Result<()> {
        let out = returns.prepare(self.returns());
        let outcome = self.call_raw(args, out);
        if outcome.is_err() {
            returns.clear();
        }
        outcome
    }

    /// Calls the operator for its effect and drops its results.
    pub fn run(&self, args: &[Arg<'_>]) -> Result<()> {
        self.call_raw(args, &mut [])
    }

    /// Calls the operator for its first result, a tensor.
    pub fn tensor(&self, args: &[Arg<'_>]) -> Result<Tensor> {
        let mut returns = Returns::default();
        self.call(args, &mut returns)?;
        returns.tensor(0)
    }

    fn call_raw(&self, args: &[Arg<'_>], out: &mut [super::RawValue]) -> Result<()> {
        // SAFETY: `Arg` is a transparent `RawValue` whose borrow outlives the call; the shim writes at most
        // `out.len()` results and reads `args.len()` arguments.
        unsafe {
            check(ffi::hrt_op_call(
                self.raw.as_ptr(),
                args.as_ptr().cast(),
                args.len(),
                out.as_mut_ptr(),
                out.len(),
            ))
        }
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        // SAFETY: made by `find`, freed once.
        unsafe { ffi::hrt_op_free(self.raw.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Return, TensorList};
    use super::*;

    fn values(tensor: &Tensor) -> Vec<f64> {
        Vec::try_from(tensor.flatten(0, -1).to_kind(tch::Kind::Double)).unwrap()
    }

    #[test]
    fn scalar_overload_takes_float_and_int() {
        let op = Op::find("aten::lerp_.Scalar").unwrap();
        let start = Tensor::from_slice(&[0.0_f32, 2.0]);
        let end = Tensor::from_slice(&[1.0_f32, 4.0]);
        op.run(&[Arg::tensor(&start), Arg::tensor(&end), Arg::float(0.5)]).unwrap();
        assert_eq!(values(&start), [0.5, 3.0]);
        op.run(&[Arg::tensor(&start), Arg::tensor(&end), Arg::int(1)]).unwrap();
        assert_eq!(values(&start), [1.0, 4.0]);
    }

    #[test]
    fn defaults_fill_what_is_left_out() {
        let op = Op::find("aten::add.Tensor").unwrap();
        let one = Tensor::from_slice(&[1.0_f32]);
        let sum = op.tensor(&[Arg::tensor(&one), Arg::tensor(&one)]).unwrap();
        assert_eq!(values(&sum), [2.0]);
        let sum = op.tensor(&[Arg::tensor(&one), Arg::tensor(&one), Arg::int(3)]).unwrap();
        assert_eq!(values(&sum), [4.0]);
    }

    #[test]
    fn types_and_devices_are_given_by_name() {
        let op = Op::find("aten::zeros").unwrap();
        let args = [Arg::ints(&[2, 3]), Arg::str("float64"), Arg::NONE, Arg::str("cpu")];
        let zeros = op.tensor(&args).unwrap();
        assert_eq!((zeros.size(), zeros.kind()), (vec![2, 3], tch::Kind::Double));
    }

    #[test]
    fn lists_go_in_and_come_out() {
        let list: TensorList =
            [Tensor::from_slice(&[3.0_f32, 4.0]), Tensor::from_slice(&[2.0_f32])].iter().collect();
        let mut returns = Returns::default();
        let norm = Op::find("aten::_foreach_norm.Scalar").unwrap();
        norm.call(&[Arg::list(&list)], &mut returns).unwrap();
        let Return::List(norms) = returns.take(0) else { panic!("no list") };
        let found: Vec<f64> = norms.iter().map(|norm| norm.double_value(&[])).collect();
        assert_eq!(found, [5.0, 2.0]);

        let scale = Op::find("aten::_foreach_mul_.Scalar").unwrap();
        scale.run(&[Arg::list(&list), Arg::float(2.0)]).unwrap();
        assert_eq!(values(&list.tensor(0).unwrap()), [6.0, 8.0]);
        let scale = Op::find("aten::_foreach_mul_.ScalarList").unwrap();
        scale.run(&[Arg::list(&list), Arg::floats(&[0.5, 10.0])]).unwrap();
        assert_eq!(values(&list.tensor(1).unwrap()), [40.0]);
    }

    #[test]
    fn several_results_and_plain_numbers_come_back() {
        let x = Tensor::from_slice(&[1.0_f32, 5.0, 3.0]);
        let mut returns = Returns::default();
        let max = Op::find("aten::max.dim").unwrap();
        max.call(&[Arg::tensor(&x), Arg::int(0)], &mut returns).unwrap();
        assert_eq!(returns.len(), 2);
        assert_eq!(values(&returns.tensor(0).unwrap()), [5.0]);
        assert_eq!(values(&returns.tensor(1).unwrap()), [1.0]);
        let item = Op::find("aten::_local_scalar_dense").unwrap();
        item.call(&[Arg::tensor(&x.get(1))], &mut returns).unwrap();
        assert!(matches!(returns.take(0), Return::F64(value) if (value - 5.0).abs() < 1e-9));
        let equal = Op::find("aten::equal").unwrap();
        equal.call(&[Arg::tensor(&x), Arg::tensor(&x)], &mut returns).unwrap();
        assert!(matches!(returns.take(0), Return::Bool(true)));
    }

    #[test]
    fn gradients_flow_through_a_called_operator() {
        let x = Tensor::from_slice(&[3.0_f32]).set_requires_grad(true);
        let square = Op::find("aten::mul.Tensor").unwrap();
        square.tensor(&[Arg::tensor(&x), Arg::tensor(&x)]).unwrap().backward();
        assert_eq!(values(&x.grad()), [6.0]);
    }

    #[test]
    fn effects_tell_what_is_written_shared_and_moved() {
        let of = |name: &str| Op::find(name).unwrap().effects();
        let effects = |written, shared, moves| Effects { written, shared, moves };
        assert_eq!(of("aten::add.Tensor"), effects(0, 0, false));
        assert_eq!(of("aten::add_.Tensor"), effects(1, 1, false));
        assert_eq!(of("aten::_foreach_add_.List"), effects(1, 1, false));
        assert_eq!(of("aten::detach"), effects(0, 1, false));
        assert_eq!(of("aten::add.out"), effects(8, 8, true));
        for name in ["aten::resize_", "aten::set_.source_Tensor", "aten::unsqueeze_"] {
            assert!(of(name).moves && of(name).written == 1, "{name}: {:?}", of(name));
        }
    }

    #[test]
    fn a_view_has_the_storage_of_its_tensor_and_a_copy_has_not() {
        let x = Tensor::from_slice(&[1.0_f32, 2.0]);
        assert_ne!(storage_of(&x), 0);
        assert_eq!(storage_of(&x.get(1)), storage_of(&x));
        assert_ne!(storage_of(&x.copy()), storage_of(&x));
    }

    #[test]
    fn schema_and_counts_are_reported() {
        let op = Op::find("aten::lerp_.Scalar").unwrap();
        assert_eq!((op.arguments(), op.returns()), (3, 1));
        assert!(op.schema().unwrap().starts_with("aten::lerp_.Scalar(Tensor(a!) self, Tensor end"));
    }

    #[test]
    fn errors_name_the_operator_the_argument_and_both_types() {
        let x = Tensor::from_slice(&[3.0_f32]);
        let text = |name: &str, args: &[Arg<'_>]| {
            Op::find(name).and_then(|op| op.run(args)).unwrap_err().text().to_owned()
        };
        let both = [Arg::tensor(&x), Arg::tensor(&x), Arg::str("half")];
        assert_eq!(
            text("aten::lerp_.Scalar", &both),
            "aten::lerp_.Scalar: argument 2 `weight` wants Scalar, found string"
        );
        assert_eq!(
            text("aten::lerp_.Scalar", &both[..2]),
            "aten::lerp_.Scalar: argument 2 `weight` (Scalar) is missing and has no default"
        );
        let many = [Arg::tensor(&x), Arg::tensor(&x), Arg::float(1.0), Arg::NONE];
        assert_eq!(
            text("aten::lerp_.Scalar", &many),
            "aten::lerp_.Scalar: takes 3 arguments, found 4"
        );
        assert_eq!(
            text("aten::_foreach_zero_", &[Arg::tensor(&x)]),
            "aten::_foreach_zero_: argument 0 `self` wants Tensor[], found tensor"
        );
        assert_eq!(
            text("aten::zeros", &[Arg::ints(&[1]), Arg::str("floaty")]),
            "aten::zeros: argument 1 `dtype` wants ScalarType?, found the string `floaty`"
        );
        assert!(text("aten::lerp_", &[]).contains("its overloads are aten::lerp_.Scalar"));
        assert!(text("aten::lerpo", &[]).starts_with("no operator named `aten::lerpo`"));
    }
}
