//! The usual methods of a tensor, made from one table: name, arguments, operator.
//!
//! A row is all there is to a method: add one, and the method, its operator in [`ops`] and the host's test of every
//! operator against libtorch follow.

use super::{Operand, Tensor, TensorList};
use crate::error::Result;
use crate::op::{Arg, CachedOp};

/// Defines the methods of [`Tensor`] and the operators behind them. Sections say what a method takes and gives:
/// `tensor` a new tensor; `pair` two; `list` several; `operand` a new tensor of this one and another or a number, each
/// of which has its own operator; `in_place` and `operand_in_place` change this tensor and give nothing.
macro_rules! tensor_methods {
    (
        tensor { $($(#[doc = $t_doc:literal])+ $t:ident($($t_arg:ident: $t_ty:ty),*) = $t_op:literal;)* }
        pair { $($(#[doc = $p_doc:literal])+ $p:ident($($p_arg:ident: $p_ty:ty),*) = $p_op:literal;)* }
        list { $($(#[doc = $l_doc:literal])+ $l:ident($($l_arg:ident: $l_ty:ty),*) = $l_op:literal;)* }
        operand { $($(#[doc = $o_doc:literal])+ $o:ident = $o_op:literal, $o_scalar:ident = $o_scalar_op:literal;)* }
        in_place { $($(#[doc = $i_doc:literal])+ $i:ident($($i_arg:ident: $i_ty:ty),*) = $i_op:literal;)* }
        operand_in_place { $($(#[doc = $j_doc:literal])+ $j:ident = $j_op:literal, $j_scalar:ident = $j_scalar_op:literal;)* }
    ) => {
        /// The operators behind the methods of [`Tensor`], by the methods' names, for `#[hook(ops = [ops::softmax])]`.
        /// Each is looked up at its first call in the process, and never again.
        #[expect(non_upper_case_globals, reason = "an operator is called as its method is")]
        pub mod ops {
            use super::CachedOp;
            $(#[doc = concat!("`", $t_op, "`")] pub static $t: CachedOp = CachedOp::new($t_op);)*
            $(#[doc = concat!("`", $p_op, "`")] pub static $p: CachedOp = CachedOp::new($p_op);)*
            $(#[doc = concat!("`", $l_op, "`")] pub static $l: CachedOp = CachedOp::new($l_op);)*
            $(#[doc = concat!("`", $o_op, "`")] pub static $o: CachedOp = CachedOp::new($o_op);
              #[doc = concat!("`", $o_scalar_op, "`")] pub static $o_scalar: CachedOp = CachedOp::new($o_scalar_op);)*
            $(#[doc = concat!("`", $i_op, "`")] pub static $i: CachedOp = CachedOp::new($i_op);)*
            $(#[doc = concat!("`", $j_op, "`")] pub static $j: CachedOp = CachedOp::new($j_op);
              #[doc = concat!("`", $j_scalar_op, "`")] pub static $j_scalar: CachedOp = CachedOp::new($j_scalar_op);)*

            /// Every operator above, with how many arguments its method gives it.
            pub static ALL: &[(&CachedOp, usize)] = &[
                $((&$t, 1 + <[&str]>::len(&[$(stringify!($t_arg)),*])),)*
                $((&$p, 1 + <[&str]>::len(&[$(stringify!($p_arg)),*])),)*
                $((&$l, 1 + <[&str]>::len(&[$(stringify!($l_arg)),*])),)*
                $((&$o, 2), (&$o_scalar, 2),)*
                $((&$i, 1 + <[&str]>::len(&[$(stringify!($i_arg)),*])),)*
                $((&$j, 2), (&$j_scalar, 2),)*
            ];
        }

        /// The usual operations, with PyTorch's names and meaning. Gradients flow through them where they are recorded.
        /// Each costs one crossing into the host; none waits for the device. An error names the operator and the
        /// shapes, and says why libtorch refused. Any other operator: [`Trainer::call`](crate::Trainer::call).
        impl Tensor {
            $($(#[doc = $t_doc])+ #[doc = ""] #[doc = concat!("`", $t_op, "`")]
            pub fn $t(&self, $($t_arg: $t_ty),*) -> Result<Tensor> {
                ops::$t.call(self.host, &[Arg::from(self), $(Arg::from($t_arg)),*])?.tensor()
            })*
            $($(#[doc = $p_doc])+ #[doc = ""] #[doc = concat!("`", $p_op, "`")]
            pub fn $p(&self, $($p_arg: $p_ty),*) -> Result<(Tensor, Tensor)> {
                ops::$p.call(self.host, &[Arg::from(self), $(Arg::from($p_arg)),*])?.pair()
            })*
            $($(#[doc = $l_doc])+ #[doc = ""] #[doc = concat!("`", $l_op, "`")]
            pub fn $l(&self, $($l_arg: $l_ty),*) -> Result<TensorList> {
                ops::$l.call(self.host, &[Arg::from(self), $(Arg::from($l_arg)),*])?.tensors()
            })*
            $($(#[doc = $o_doc])+ #[doc = ""] #[doc = concat!("`", $o_op, "`, `", $o_scalar_op, "`")]
            pub fn $o<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
                let other = other.into();
                let op = if other.is_tensor() { &ops::$o } else { &ops::$o_scalar };
                op.call(self.host, &[Arg::from(self), other.arg()])?.tensor()
            })*
            $($(#[doc = $i_doc])+ #[doc = ""] #[doc = concat!("`", $i_op, "`")]
            pub fn $i(&self, $($i_arg: $i_ty),*) -> Result<()> {
                ops::$i.run(self.host, &[Arg::from(self), $(Arg::from($i_arg)),*])
            })*
            $($(#[doc = $j_doc])+ #[doc = ""] #[doc = concat!("`", $j_op, "`, `", $j_scalar_op, "`")]
            pub fn $j<'a>(&self, other: impl Into<Operand<'a>>) -> Result<()> {
                let other = other.into();
                let op = if other.is_tensor() { &ops::$j } else { &ops::$j_scalar };
                op.run(self.host, &[Arg::from(self), other.arg()])
            })*
        }
    };
}

tensor_methods! {
    tensor {
        /// The absolute value of each number.
        abs() = "aten::abs";
        /// Each number with its sign changed.
        neg() = "aten::neg";
        /// e to the power of each number.
        exp() = "aten::exp";
        /// The natural logarithm of each number.
        log() = "aten::log";
        /// The natural logarithm of one more than each number.
        log1p() = "aten::log1p";
        /// The square root of each number.
        sqrt() = "aten::sqrt";
        /// One divided by the square root of each number.
        rsqrt() = "aten::rsqrt";
        /// One divided by each number.
        reciprocal() = "aten::reciprocal";
        /// The square of each number.
        square() = "aten::square";
        /// -1, 0 or 1 for each number.
        sign() = "aten::sign";
        /// The hyperbolic tangent of each number.
        tanh() = "aten::tanh";
        /// The logistic function of each number.
        sigmoid() = "aten::sigmoid";
        /// Each number, with 0 in place of negative ones.
        relu() = "aten::relu";
        /// The Gaussian error linear unit of each number.
        gelu() = "aten::gelu";
        /// Whether each number is neither NaN nor infinite.
        isfinite() = "aten::isfinite";
        /// Whether each number is NaN.
        isnan() = "aten::isnan";
        /// Each number, moved into `min..=max`.
        clamp(min: f64, max: f64) = "aten::clamp";
        /// Each number, at least `min`.
        clamp_min(min: f64) = "aten::clamp_min";
        /// Each number, at most `max`.
        clamp_max(max: f64) = "aten::clamp_max";
        /// The greater of each pair of numbers.
        maximum(other: &Tensor) = "aten::maximum";
        /// The lesser of each pair of numbers.
        minimum(other: &Tensor) = "aten::minimum";
        /// Of a tensor of booleans: the number of `yes` where it is true, of `no` elsewhere. PyTorch's `where`.
        where_cond(yes: &Tensor, no: &Tensor) = "aten::where.self";
        /// A copy with `value` wherever `mask` is true.
        masked_fill(mask: &Tensor, value: f64) = "aten::masked_fill.Scalar";
        /// `self + weight * (end - self)`.
        lerp(end: &Tensor, weight: f64) = "aten::lerp.Scalar";

        /// The sum of all numbers.
        sum() = "aten::sum";
        /// The sum along dimensions.
        sum_dim(dims: &[i64], keepdim: bool) = "aten::sum.dim_IntList";
        /// The mean of all numbers.
        mean() = "aten::mean";
        /// The mean along dimensions.
        mean_dim(dims: &[i64], keepdim: bool) = "aten::mean.dim";
        /// The standard deviation of all numbers, unbiased.
        std() = "aten::std";
        /// The greatest number.
        max() = "aten::max";
        /// The least number.
        min() = "aten::min";
        /// Where the greatest number along a dimension is.
        argmax(dim: i64, keepdim: bool) = "aten::argmax";
        /// Where the least number along a dimension is.
        argmin(dim: i64, keepdim: bool) = "aten::argmin";
        /// The 2-norm of all numbers.
        norm() = "aten::linalg_vector_norm";
        /// The norm of order `ord` along dimensions.
        norm_dim(ord: f64, dims: &[i64], keepdim: bool) = "aten::linalg_vector_norm";
        /// Whether all numbers are true, or not 0.
        all() = "aten::all";
        /// Whether any number is true, or not 0.
        any() = "aten::any";
        /// The sums of all numbers up to each place of a dimension.
        cumsum(dim: i64) = "aten::cumsum";
        /// The softmax along a dimension.
        softmax(dim: i64) = "aten::softmax.int";
        /// The logarithm of the softmax along a dimension.
        log_softmax(dim: i64) = "aten::log_softmax.int";

        /// The product of matrices, or of batches of them.
        matmul(other: &Tensor) = "aten::matmul";
        /// Two dimensions exchanged. No copy.
        transpose(dim0: i64, dim1: i64) = "aten::transpose.int";
        /// The dimensions in another order. No copy.
        permute(dims: &[i64]) = "aten::permute";
        /// The same numbers in another shape, where -1 is what is left; a copy only where it must be. This is PyTorch's
        /// `view` too: [`view`](Tensor::view) is the tensor's memory here.
        reshape(shape: &[i64]) = "aten::reshape";
        /// Dimensions `start_dim` to `end_dim` made into one.
        flatten(start_dim: i64, end_dim: i64) = "aten::flatten.using_ints";
        /// With one more dimension, of size 1, at `dim`. No copy.
        unsqueeze(dim: i64) = "aten::unsqueeze";
        /// Without the dimensions of size 1. No copy.
        squeeze() = "aten::squeeze";
        /// Without the dimension `dim` if its size is 1. No copy.
        squeeze_dim(dim: i64) = "aten::squeeze.dim";
        /// Dimensions of size 1 repeated to `shape`, where -1 leaves a size as it is. No copy.
        expand(shape: &[i64]) = "aten::expand";
        /// Dimensions of size 1 repeated to the other's shape. No copy.
        expand_as(other: &Tensor) = "aten::expand_as";
        /// Repeated so often along each dimension.
        repeat(times: &[i64]) = "aten::repeat";
        /// With its elements in order in memory; a copy only where they are not.
        contiguous() = "aten::contiguous";
        /// In reverse order along dimensions.
        flip(dims: &[i64]) = "aten::flip";

        /// The slice at `index` of a dimension, which is gone. No copy.
        select(dim: i64, index: i64) = "aten::select.int";
        /// `length` places of a dimension from `start` on. No copy.
        narrow(dim: i64, start: i64, length: i64) = "aten::narrow";
        /// Places `start` to before `end` of a dimension, each `step`-th. No copy.
        slice(dim: i64, start: i64, end: i64, step: i64) = "aten::slice.Tensor";
        /// The places of a dimension that `index` lists.
        index_select(dim: i64, index: &Tensor) = "aten::index_select";
        /// Along a dimension, the number at the place that `index` says, for each place of `index`.
        gather(dim: i64, index: &Tensor) = "aten::gather";
        /// The numbers where `mask` is true, in a row.
        masked_select(mask: &Tensor) = "aten::masked_select";
        /// For each class number a row with 1 at its place and 0 elsewhere.
        one_hot(classes: i64) = "aten::one_hot";

        /// Zeros in the same shape, of the same type and on the same device.
        zeros_like() = "aten::zeros_like";
        /// Ones in the same shape.
        ones_like() = "aten::ones_like";
        /// One value in the same shape.
        full_like(value: f64) = "aten::full_like";
        /// Uniform random numbers of 0 to 1 in the same shape, from the run's generator.
        rand_like() = "aten::rand_like";
        /// Normal random numbers in the same shape, from the run's generator.
        randn_like() = "aten::randn_like";
        /// The same numbers, through which no gradient flows. No copy.
        detach() = "aten::detach";

        /// The mean cross entropy of rows of logits, for class numbers or rows of probabilities.
        cross_entropy(target: &Tensor) = "aten::cross_entropy_loss";
        /// The mean squared difference.
        mse_loss(target: &Tensor) = "aten::mse_loss";
        /// The mean absolute difference.
        l1_loss(target: &Tensor) = "aten::l1_loss";
        /// The mean binary cross entropy of logits.
        binary_cross_entropy_with_logits(target: &Tensor) = "aten::binary_cross_entropy_with_logits";
    }
    pair {
        /// The greatest numbers along a dimension, and where they are.
        max_dim(dim: i64, keepdim: bool) = "aten::max.dim";
        /// The least numbers along a dimension, and where they are.
        min_dim(dim: i64, keepdim: bool) = "aten::min.dim";
        /// The `k` greatest numbers along a dimension, and where they are.
        topk(k: i64, dim: i64) = "aten::topk";
        /// The numbers in order along a dimension, and where they were.
        sort(dim: i64, descending: bool) = "aten::sort";
    }
    list {
        /// `chunks` parts along a dimension. No copy.
        chunk(chunks: i64, dim: i64) = "aten::chunk";
    }
    operand {
        /// The sum with another tensor or a number; also `&a + &b`.
        add = "aten::add.Tensor", add_scalar = "aten::add.Scalar";
        /// The difference from another tensor or a number; also `&a - &b`.
        sub = "aten::sub.Tensor", sub_scalar = "aten::sub.Scalar";
        /// The product with another tensor or a number, element by element; also `&a * &b`.
        mul = "aten::mul.Tensor", mul_scalar = "aten::mul.Scalar";
        /// The quotient by another tensor or a number, element by element; also `&a / &b`.
        div = "aten::div.Tensor", div_scalar = "aten::div.Scalar";
        /// Each number to the power of its counterpart, or of a number.
        pow = "aten::pow.Tensor_Tensor", pow_scalar = "aten::pow.Tensor_Scalar";
        /// Whether each number equals its counterpart, or a number.
        eq = "aten::eq.Tensor", eq_scalar = "aten::eq.Scalar";
        /// Whether each number differs from its counterpart, or from a number.
        ne = "aten::ne.Tensor", ne_scalar = "aten::ne.Scalar";
        /// Whether each number is greater than its counterpart, or than a number.
        gt = "aten::gt.Tensor", gt_scalar = "aten::gt.Scalar";
        /// Whether each number is at least its counterpart, or a number.
        ge = "aten::ge.Tensor", ge_scalar = "aten::ge.Scalar";
        /// Whether each number is less than its counterpart, or than a number.
        lt = "aten::lt.Tensor", lt_scalar = "aten::lt.Scalar";
        /// Whether each number is at most its counterpart, or a number.
        le = "aten::le.Tensor", le_scalar = "aten::le.Scalar";
    }
    in_place {
        /// Takes the other's numbers.
        copy_(source: &Tensor) = "aten::copy_";
        /// Moves a part of the way to `end`: `self + weight * (end - self)`.
        lerp_(end: &Tensor, weight: f64) = "aten::lerp_.Scalar";
        /// Becomes 0.
        zero_() = "aten::zero_";
        /// Becomes one value.
        fill_(value: f64) = "aten::fill_.Scalar";
        /// Moves each number into `min..=max`.
        clamp_(min: f64, max: f64) = "aten::clamp_";
        /// Adds the other tensor times `alpha`.
        add_scaled_(other: &Tensor, alpha: f64) = "aten::add_.Tensor";
        /// Takes the value wherever `mask` is true.
        masked_fill_(mask: &Tensor, value: f64) = "aten::masked_fill_.Scalar";
    }
    operand_in_place {
        /// Adds another tensor or a number.
        add_ = "aten::add_.Tensor", add_scalar_ = "aten::add_.Scalar";
        /// Subtracts another tensor or a number.
        sub_ = "aten::sub_.Tensor", sub_scalar_ = "aten::sub_.Scalar";
        /// Is multiplied by another tensor or a number.
        mul_ = "aten::mul_.Tensor", mul_scalar_ = "aten::mul_.Scalar";
        /// Is divided by another tensor or a number.
        div_ = "aten::div_.Tensor", div_scalar_ = "aten::div_.Scalar";
    }
}
