//! The usual methods of a tensor, made from one table: name, arguments, operator.
//!
//! A row is all there is to a method: add one, and the method, its operator in [`ops`] and the host's test of every
//! operator against libtorch follow.

use super::{Operand, Tensor, TensorList};
use crate::error::Result;
use crate::op::{Arg, CachedOp};

/// Defines the methods of [`Tensor`] and the operators behind them. The sections are: `tensor` returns a new tensor, `pair` two, `list` a
/// list; `operand` takes a tensor or a number, with an operator for each; `in_place` and `operand_in_place` change this tensor.
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
        /// Each is looked up at its first call in the process.
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

        /// The usual operations, with PyTorch's names and semantics. They take part in autograd where
        /// gradients are recorded.
        ///
        /// Each is one call to the host plus libtorch's own cost, and returns a new tensor, which belongs to
        /// the caller; those marked "Not a copy" share the memory of this one. None waits for the device,
        /// except [`masked_select`](Self::masked_select) on a GPU. A negative dimension counts from the last;
        /// with `keepdim` a reduced dimension stays, as one of size 1.
        ///
        /// Names that end in `_` change this tensor in place: [of a tensor of the
        /// run](#what-belongs-to-the-run) that needs a word of `mutates`. In a role, change a parameter in
        /// place within [`no_grad`](crate::Trainer::no_grad).
        ///
        /// # Errors
        /// The message names the operator, the shapes and libtorch's reason: shapes or dtypes that do not
        /// match, tensors on different devices, a dimension out of range, a handle that is no longer valid.
        /// For any other operator use [`Trainer::call`](crate::Trainer::call).
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
        /// The absolute value of each element.
        abs() = "aten::abs";
        /// The negative of each element.
        neg() = "aten::neg";
        /// The exponential of each element.
        exp() = "aten::exp";
        /// The natural logarithm of each element.
        log() = "aten::log";
        /// The natural logarithm of `1 + x` for each element.
        log1p() = "aten::log1p";
        /// The square root of each element.
        sqrt() = "aten::sqrt";
        /// The reciprocal of the square root of each element.
        rsqrt() = "aten::rsqrt";
        /// The reciprocal of each element.
        reciprocal() = "aten::reciprocal";
        /// The square of each element.
        square() = "aten::square";
        /// The sign of each element: -1, 0 or 1.
        sign() = "aten::sign";
        /// The sine of each element.
        sin() = "aten::sin";
        /// The cosine of each element.
        cos() = "aten::cos";
        /// Each element rounded down.
        floor() = "aten::floor";
        /// Each element rounded up.
        ceil() = "aten::ceil";
        /// Each element rounded to the nearest integer, halves to the even one.
        round() = "aten::round";
        /// The hyperbolic tangent of each element.
        tanh() = "aten::tanh";
        /// The logistic sigmoid of each element.
        sigmoid() = "aten::sigmoid";
        /// The rectified linear unit: `max(x, 0)` for each element.
        relu() = "aten::relu";
        /// The Gaussian error linear unit of each element.
        gelu() = "aten::gelu";
        /// The sigmoid linear unit of each element: `x * sigmoid(x)`, also called swish.
        silu() = "aten::silu";
        /// The leaky rectified linear unit: elements below 0 times `negative_slope`.
        leaky_relu(negative_slope: f64) = "aten::leaky_relu";
        /// Whether both elements are true or nonzero, as bool.
        logical_and(other: &Tensor) = "aten::logical_and";
        /// Whether either element is true or nonzero, as bool.
        logical_or(other: &Tensor) = "aten::logical_or";
        /// Whether each element is false or zero, as bool.
        logical_not() = "aten::logical_not";
        /// 1 with the probability that each element is, else 0, from the run's generator. Each must be in `[0, 1]`.
        bernoulli() = "aten::bernoulli";
        /// Whether each element is finite, as bool; `x.isfinite()?.all()?` is one value for all of them.
        isfinite() = "aten::isfinite";
        /// Whether each element is NaN, as bool.
        isnan() = "aten::isnan";
        /// Whether each element is infinite, as bool.
        isinf() = "aten::isinf";
        /// Clamps all elements to the range from `min` to `max`.
        clamp(min: f64, max: f64) = "aten::clamp";
        /// Clamps all elements from below.
        clamp_min(min: f64) = "aten::clamp_min";
        /// Clamps all elements from above.
        clamp_max(max: f64) = "aten::clamp_max";
        /// The element-wise maximum of two tensors.
        maximum(other: &Tensor) = "aten::maximum";
        /// The element-wise minimum of two tensors.
        minimum(other: &Tensor) = "aten::minimum";
        /// For a boolean tensor: elements of `yes` where it is true, of `no` elsewhere. PyTorch's `where`.
        where_cond(yes: &Tensor, no: &Tensor) = "aten::where.self";
        /// A copy with `value` where `mask` is true.
        masked_fill(mask: &Tensor, value: f64) = "aten::masked_fill.Scalar";
        /// Linear interpolation: `self + weight * (end - self)`.
        lerp(end: &Tensor, weight: f64) = "aten::lerp.Scalar";

        /// The sum of all elements. Of integers and booleans it is int64.
        sum() = "aten::sum";
        /// The sum over dimensions.
        sum_dim(dims: &[i64], keepdim: bool) = "aten::sum.dim_IntList";
        /// The mean of all elements. An error for integers: convert them by [`to_dtype`](Self::to_dtype) before.
        mean() = "aten::mean";
        /// The mean over dimensions, as [`mean`](Self::mean).
        mean_dim(dims: &[i64], keepdim: bool) = "aten::mean.dim";
        /// The unbiased standard deviation of all elements; NaN for a single one.
        std() = "aten::std";
        /// The standard deviation over dimensions, `unbiased` with Bessel's correction.
        std_dim(dims: &[i64], unbiased: bool, keepdim: bool) = "aten::std.dim";
        /// The unbiased variance of all elements.
        var() = "aten::var";
        /// The variance over dimensions, `unbiased` with Bessel's correction.
        var_dim(dims: &[i64], unbiased: bool, keepdim: bool) = "aten::var.dim";
        /// The product of all elements.
        prod() = "aten::prod";
        /// The product along a dimension.
        prod_dim(dim: i64, keepdim: bool) = "aten::prod.dim_int";
        /// The logarithm of the sum of the exponentials over dimensions, without overflow.
        logsumexp(dims: &[i64], keepdim: bool) = "aten::logsumexp";
        /// The maximum of all elements; NaN if one of them is. An error for a tensor without elements.
        max() = "aten::max";
        /// The minimum of all elements, as [`max`](Self::max).
        min() = "aten::min";
        /// The maxima over some dimensions, without their indices.
        amax(dims: &[i64], keepdim: bool) = "aten::amax";
        /// The minima over some dimensions, without their indices.
        amin(dims: &[i64], keepdim: bool) = "aten::amin";
        /// The index of the maximum along a dimension, as int64.
        argmax(dim: i64, keepdim: bool) = "aten::argmax";
        /// The index of the minimum along a dimension, as int64.
        argmin(dim: i64, keepdim: bool) = "aten::argmin";
        /// The 2-norm of all elements. An error for integers.
        norm() = "aten::linalg_vector_norm";
        /// The norm of order `ord` over dimensions.
        norm_dim(ord: f64, dims: &[i64], keepdim: bool) = "aten::linalg_vector_norm";
        /// Whether all elements are true or nonzero.
        all() = "aten::all";
        /// Whether any element is true or nonzero.
        any() = "aten::any";
        /// The cumulative sum along a dimension.
        cumsum(dim: i64) = "aten::cumsum";
        /// The softmax along a dimension. An error for integers.
        softmax(dim: i64) = "aten::softmax.int";
        /// The logarithm of the softmax along a dimension.
        log_softmax(dim: i64) = "aten::log_softmax.int";

        /// The matrix product, also of batches of matrices.
        matmul(other: &Tensor) = "aten::matmul";
        /// The dot product of two 1-dim tensors.
        dot(other: &Tensor) = "aten::dot";
        /// The cosine of the angle between two tensors along a dimension.
        cosine_similarity(other: &Tensor, dim: i64) = "aten::cosine_similarity";
        /// Swaps two dimensions. Not a copy.
        transpose(dim0: i64, dim1: i64) = "aten::transpose.int";
        /// Permutes the dimensions. Not a copy.
        permute(dims: &[i64]) = "aten::permute";
        /// The same elements in another shape, where -1 is inferred; copies only if necessary. Use it also for PyTorch's
        /// `view`: [`view`](Tensor::view) is the tensor's memory here.
        reshape(shape: &[i64]) = "aten::reshape";
        /// Flattens the dimensions from `start_dim` to `end_dim` into one; copies only if necessary.
        flatten(start_dim: i64, end_dim: i64) = "aten::flatten.using_ints";
        /// Inserts a dimension of size 1 at `dim`. Not a copy.
        unsqueeze(dim: i64) = "aten::unsqueeze";
        /// Removes all dimensions of size 1. Not a copy.
        squeeze() = "aten::squeeze";
        /// Removes the dimension `dim` if its size is 1. Not a copy.
        squeeze_dim(dim: i64) = "aten::squeeze.dim";
        /// Expands dimensions of size 1 to `shape`, where -1 keeps a size. Not a copy.
        expand(shape: &[i64]) = "aten::expand";
        /// Expands dimensions of size 1 to the shape of another tensor. Not a copy.
        expand_as(other: &Tensor) = "aten::expand_as";
        /// Repeats the tensor along each dimension. Copies; [`expand`](Self::expand) does not.
        repeat(times: &[i64]) = "aten::repeat";
        /// A contiguous tensor; copies only if it is not contiguous.
        contiguous() = "aten::contiguous";
        /// Reverses the order along dimensions. Copies.
        flip(dims: &[i64]) = "aten::flip";
        /// Shifts the entries of each of `dims` by the number at the same place of `shifts`; those that are shifted
        /// beyond the end come first. Copies.
        roll(shifts: &[i64], dims: &[i64]) = "aten::roll";
        /// The lower triangle of the last two dimensions, up to a diagonal (0 is the main one); 0 elsewhere.
        tril(diagonal: i64) = "aten::tril";
        /// The upper triangle of the last two dimensions, from a diagonal on (0 is the main one); 0 elsewhere.
        triu(diagonal: i64) = "aten::triu";

        /// The slice at `index` of a dimension, which is removed. Not a copy.
        select(dim: i64, index: i64) = "aten::select.int";
        /// `length` entries of a dimension from `start` on. Not a copy.
        narrow(dim: i64, start: i64, length: i64) = "aten::narrow";
        /// The entries from `start` up to `end` (exclusive) of a dimension, every `step`-th. Not a copy.
        slice(dim: i64, start: i64, end: i64, step: i64) = "aten::slice.Tensor";
        /// The entries of a dimension listed in `index`, a 1-dim tensor of integers. Copies.
        index_select(dim: i64, index: &Tensor) = "aten::index_select";
        /// Gathers elements along a dimension by `index`, an int64 tensor with as many dimensions, whose shape the
        /// result has.
        gather(dim: i64, index: &Tensor) = "aten::gather";
        /// The elements where `mask` is true, as a 1-dim tensor. Waits for a GPU, since their number is the size of
        /// the result.
        masked_select(mask: &Tensor) = "aten::masked_select";
        /// The positions of the elements that are not zero, one in each row, as int64. Waits for a GPU.
        nonzero() = "aten::nonzero";
        /// How often each integer from 0 on occurs in a 1-dim tensor of integers, as int64. Waits for a GPU.
        bincount() = "aten::bincount";
        /// The one-hot encoding of class indices, which must be int64, as int64 with a new last dimension.
        one_hot(classes: i64) = "aten::one_hot";

        /// Zeros with the same shape, dtype and device.
        zeros_like() = "aten::zeros_like";
        /// Ones with the same shape, dtype and device.
        ones_like() = "aten::ones_like";
        /// A tensor filled with `value`, with the same shape, dtype and device.
        full_like(value: f64) = "aten::full_like";
        /// Random numbers, uniform in `[0, 1)`, with the same shape, from the run's generator.
        rand_like() = "aten::rand_like";
        /// Random numbers from the standard normal distribution with the same shape, from the run's generator.
        randn_like() = "aten::randn_like";
        /// The same tensor, detached from the graph. Not a copy: a change in place of
        /// one is a change of both.
        detach() = "aten::detach";

        /// The mean cross entropy of logits, for class indices (int64) or class probabilities. The label -100 is
        /// ignored; NaN if all are. It is not the configured loss, see [`Trainer::criterion_of`](crate::Trainer::criterion_of).
        cross_entropy(target: &Tensor) = "aten::cross_entropy_loss";
        /// The mean squared error.
        mse_loss(target: &Tensor) = "aten::mse_loss";
        /// The mean of half the squared error below 1, and of the absolute error less a half above.
        smooth_l1_loss(target: &Tensor) = "aten::smooth_l1_loss";
        /// The mean negative log likelihood of log-probabilities, for class indices (int64).
        nll_loss(target: &Tensor) = "aten::nll_loss";
        /// The mean absolute error.
        l1_loss(target: &Tensor) = "aten::l1_loss";
        /// The mean binary cross entropy of logits. The target has floats, of the same shape.
        binary_cross_entropy_with_logits(target: &Tensor) = "aten::binary_cross_entropy_with_logits";
    }
    pair {
        /// The maxima along a dimension and their indices.
        max_dim(dim: i64, keepdim: bool) = "aten::max.dim";
        /// The minima along a dimension and their indices.
        min_dim(dim: i64, keepdim: bool) = "aten::min.dim";
        /// The `k` largest elements along a dimension and their indices, largest first.
        topk(k: i64, dim: i64) = "aten::topk";
        /// The sorted elements along a dimension and their indices, as int64.
        sort(dim: i64, descending: bool) = "aten::sort";
    }
    list {
        /// Splits a dimension into `chunks` parts. Not a copy.
        chunk(chunks: i64, dim: i64) = "aten::chunk";
        /// Splits a dimension into parts of `size` entries; the last one may be smaller. Not a copy.
        split(size: i64, dim: i64) = "aten::split.Tensor";
        /// The entries along a dimension, which is removed. Not a copy.
        unbind(dim: i64) = "aten::unbind.int";
    }
    operand {
        /// The sum with another tensor or a number; also `&a + &b`.
        add = "aten::add.Tensor", add_scalar = "aten::add.Scalar";
        /// The difference from another tensor or a number; also `&a - &b`.
        sub = "aten::sub.Tensor", sub_scalar = "aten::sub.Scalar";
        /// The product with another tensor or a number, element by element; also `&a * &b`.
        mul = "aten::mul.Tensor", mul_scalar = "aten::mul.Scalar";
        /// The quotient by another tensor or a number, element by element; also `&a / &b`. Of integers it is float32.
        div = "aten::div.Tensor", div_scalar = "aten::div.Scalar";
        /// Each element to the power of another tensor or a number.
        pow = "aten::pow.Tensor_Tensor", pow_scalar = "aten::pow.Tensor_Scalar";
        /// Element-wise `==` with another tensor or a number, as bool; so are the other comparisons.
        eq = "aten::eq.Tensor", eq_scalar = "aten::eq.Scalar";
        /// Element-wise `!=` with another tensor or a number.
        ne = "aten::ne.Tensor", ne_scalar = "aten::ne.Scalar";
        /// Element-wise `>` with another tensor or a number.
        gt = "aten::gt.Tensor", gt_scalar = "aten::gt.Scalar";
        /// Element-wise `>=` with another tensor or a number.
        ge = "aten::ge.Tensor", ge_scalar = "aten::ge.Scalar";
        /// Element-wise `<` with another tensor or a number.
        lt = "aten::lt.Tensor", lt_scalar = "aten::lt.Scalar";
        /// Element-wise `<=` with another tensor or a number.
        le = "aten::le.Tensor", le_scalar = "aten::le.Scalar";
    }
    in_place {
        /// Copies the elements of another tensor in place, converted to this dtype and moved to this device. A smaller
        /// shape is expanded.
        copy_(source: &Tensor) = "aten::copy_";
        /// Interpolates in place: `self + weight * (end - self)`.
        lerp_(end: &Tensor, weight: f64) = "aten::lerp_.Scalar";
        /// Sets all elements to 0.
        zero_() = "aten::zero_";
        /// Sets all elements to `value`.
        fill_(value: f64) = "aten::fill_.Scalar";
        /// Clamps all elements in place to the range from `min` to `max`.
        clamp_(min: f64, max: f64) = "aten::clamp_";
        /// Adds another tensor times `alpha` in place, without a temporary tensor.
        add_scaled_(other: &Tensor, alpha: f64) = "aten::add_.Tensor";
        /// Sets the elements where `mask` is true to `value`.
        masked_fill_(mask: &Tensor, value: f64) = "aten::masked_fill_.Scalar";
        /// Writes the elements of `source` to the places of a dimension that `index`, an int64 tensor, names. If a
        /// place is named twice, either element may be written.
        scatter_(dim: i64, index: &Tensor, source: &Tensor) = "aten::scatter_.src";
        /// Adds the elements of `source` at the positions along a dimension that `index` names, in place.
        scatter_add_(dim: i64, index: &Tensor, source: &Tensor) = "aten::scatter_add_";
        /// Adds the entries of `source` along a dimension to those that `index`, a 1-dim tensor of int64, names, in place.
        index_add_(dim: i64, index: &Tensor, source: &Tensor) = "aten::index_add_";
        /// Adds `value * a * b` in place.
        addcmul_(a: &Tensor, b: &Tensor, value: f64) = "aten::addcmul_";
        /// Adds `value * a / b` in place.
        addcdiv_(a: &Tensor, b: &Tensor, value: f64) = "aten::addcdiv_";
        /// Sets whether operations on this tensor are recorded for [gradients](crate::Trainer::gradients). For a tensor of
        /// the hook's own; parameters are frozen by [`set_trainable`](crate::Trainer::set_trainable).
        requires_grad_(on: bool) = "aten::requires_grad_";
        /// Replaces NaN by `nan`, and infinities by the greatest and least finite numbers of the dtype.
        nan_to_num_(nan: f64) = "aten::nan_to_num_";
    }
    operand_in_place {
        /// Adds another tensor or a number in place. The dtype stays: a float result in an integer tensor is an error.
        add_ = "aten::add_.Tensor", add_scalar_ = "aten::add_.Scalar";
        /// Subtracts another tensor or a number in place.
        sub_ = "aten::sub_.Tensor", sub_scalar_ = "aten::sub_.Scalar";
        /// Multiplies by another tensor or a number in place.
        mul_ = "aten::mul_.Tensor", mul_scalar_ = "aten::mul_.Scalar";
        /// Divides by another tensor or a number in place; an error for integers.
        div_ = "aten::div_.Tensor", div_scalar_ = "aten::div_.Scalar";
    }
}
