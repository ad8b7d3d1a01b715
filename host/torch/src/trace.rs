//! Tracing: records the operations of code on some tensors as a graph that runs without the code.

use std::ptr::{self, NonNull};

use tch::Tensor;

use super::error::check;
use super::{Result, TensorList, TorchError, ffi};

/// A traced graph. It owns no tensors but constants.
#[derive(Debug)]
pub struct Graph {
    raw: NonNull<ffi::RawGraph>,
}

// SAFETY: owned alone; libtorch's executors are not bound to a thread.
unsafe impl Send for Graph {}

impl Graph {
    /// Runs `body` once and records it as a graph over `first` and `rest`; also returns its output.
    ///
    /// What `body` reads as plain numbers, such as shapes, becomes a constant of the graph. A tensor that is
    /// trained but not among the inputs is an error: the graph would never see it change.
    pub fn trace<E: From<TorchError>>(
        first: &Tensor,
        rest: &TensorList,
        body: impl FnOnce() -> std::result::Result<Tensor, E>,
    ) -> std::result::Result<(Self, Tensor), E> {
        let mut inputs = TensorList::with_capacity(rest.len() + 1);
        inputs.push(first);
        inputs.extend(rest.iter());
        let recording = Recording::begin(&inputs)?;
        let output = body()?;
        let graph = recorded(&output)?;
        drop(recording);
        Ok((graph, output))
    }

    /// Runs the graph on tensors in place of those of the trace, in the same order.
    pub fn run(&self, first: &Tensor, rest: &TensorList) -> Result<Tensor> {
        let mut out = ptr::null_mut();
        // SAFETY: all live through the call, and `Graph` is not `Sync`; on success `out` is a new tensor of ours.
        unsafe {
            let raw = self.raw.as_ptr();
            check(ffi::hrt_graph_run(raw, first.as_ptr(), rest.as_raw(), &raw mut out))?;
            Ok(Tensor::from_ptr(out))
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made by `recorded`, freed once.
        unsafe { ffi::hrt_graph_free(self.raw.as_ptr()) };
    }
}

/// Records while it lives, unless [`recorded`] ended it; if dropped before that, nothing is kept.
struct Recording;

impl Recording {
    fn begin(inputs: &TensorList) -> Result<Self> {
        // SAFETY: the list lives through the call; the shim keeps handles of its own.
        unsafe { check(ffi::hrt_trace_begin(inputs.as_raw()))? };
        Ok(Self)
    }
}

/// What was recorded up to `output`, which ends the recording.
fn recorded(output: &Tensor) -> Result<Graph> {
    let mut raw = ptr::null_mut();
    // SAFETY: the output lives through the call, and `raw` is written only on success.
    unsafe { check(ffi::hrt_trace_end(output.as_ptr(), &raw mut raw))? };
    NonNull::new(raw)
        .map(|raw| Graph { raw })
        .ok_or_else(|| TorchError::new("a graph was traced but not handed over"))
}

impl Drop for Recording {
    fn drop(&mut self) {
        // SAFETY: clears a thread-local pointer.
        let abandoned = unsafe { check(ffi::hrt_trace_abandon()) };
        if let Err(error) = abandoned {
            tracing::error!(%error, "a trace could not be ended");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::autograd;
    use super::*;
    use tch::{Device, Kind};

    fn list(tensors: &[&Tensor]) -> TensorList {
        tensors.iter().copied().collect()
    }

    #[test]
    fn a_graph_sees_other_inputs_changed_weights_and_gives_gradients() {
        let mut weight = Tensor::from_slice(&[2.0_f32]).set_requires_grad(true);
        let rest = list(&[&weight]);
        let x = Tensor::from_slice(&[3.0_f32]);
        let (graph, output) =
            Graph::trace::<TorchError>(&x, &rest, || Ok(x.f_mul(&weight)?.f_add_scalar(1.0)?))
                .unwrap();
        assert!((output.double_value(&[0]) - 7.0).abs() < 1e-6);
        {
            let _no_grad = autograd::GradMode::set(false);
            let _ = weight.fill_(10.0);
        }
        for _ in 0..3 {
            autograd::clear_grads(&rest).unwrap();
            let output = graph.run(&Tensor::from_slice(&[5.0_f32]), &rest).unwrap();
            assert!((output.double_value(&[0]) - 51.0).abs() < 1e-6);
            autograd::backward(&output.sum(Kind::Float)).unwrap();
            assert!((weight.grad().double_value(&[0]) - 5.0).abs() < 1e-6);
        }
    }

    #[test]
    fn what_is_changed_in_place_changes_in_every_run_and_dropout_stays_random() {
        let mut count = Tensor::zeros([1], (Kind::Float, Device::Cpu));
        let rest = list(&[&count]);
        let x = Tensor::ones([64], (Kind::Float, Device::Cpu));
        let (graph, _) = Graph::trace::<TorchError>(&x, &rest, || {
            let _ = count.f_add_scalar_(1.0)?;
            Ok(x.f_dropout(0.5, true)?)
        })
        .unwrap();
        let runs: Vec<_> = (0..4).map(|_| graph.run(&x, &rest).unwrap()).collect();
        assert!((count.double_value(&[0]) - 5.0).abs() < 1e-6, "one trace and four runs");
        assert_ne!(runs[2], runs[3]);
    }

    #[test]
    fn a_weight_that_is_not_an_input_is_refused_and_the_next_trace_works() {
        let weight = Tensor::from_slice(&[2.0_f32]).set_requires_grad(true);
        let x = Tensor::from_slice(&[3.0_f32]);
        let none = TensorList::default();
        let error = Graph::trace::<TorchError>(&x, &none, || Ok(x.f_mul(&weight)?)).unwrap_err();
        assert!(error.text().contains("requires grad as a constant"), "{error}");
        let (graph, _) =
            Graph::trace::<TorchError>(&x, &none, || Ok(x.f_mul_scalar(2.0)?)).unwrap();
        assert!(
            graph.run(&x, &list(&[&x])).unwrap_err().text().contains("takes 1 tensors, found 2")
        );
    }
}
