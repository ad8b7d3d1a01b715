//! What the host refuses is refused in the test of a plugin too.

use crate::prelude::*;
use crate::settings;
use crate::testing::FakeTrainer;

/// Does one thing at the point where it is called, and declares only that it changes gradients.
#[derive(Settings)]
struct Meddler {
    what: String,
}

impl Meddler {
    fn meddle(&self, t: &mut Trainer) -> Result<()> {
        match self.what.as_str() {
            "scale the weights" => t.params().mul_(0.5),
            "zero a row" => t.params().at(0).map_or(Ok(()), |w| w.narrow(0, 0, 1)?.zero_()),
            "scale the gradients" => t.grads().mul_(0.5),
            "scale a copy" => t.params().clone_detached()?.mul_(0.5),
            "scale what is shared" => {
                let Some(w) = t.params().at(0) else { bail!("no parameter") };
                t.put_state_tensor("w", &w)?;
                t.state_tensor("w")?.map_or(Ok(()), |shared| shared.mul_(0.5))
            }
            "copy the weights over ranks" => {
                t.params().at(0).map_or(Ok(()), |w| t.broadcast(&w, 0))
            }
            "sum the gradients over ranks" => {
                t.grads().at(0).map_or(Ok(()), |grad| t.all_reduce(&grad, Reduction::Sum))
            }
            "scale a layer" => {
                let layers = t.watch_layers("fc")?;
                layers.iter().try_for_each(|layer| t.layer_output(layer)?.mul_(0.5))
            }
            "freeze" => t.set_trainable("w", false).map(drop),
            "forward" => t.forward(),
            "step" => t.optimizer_step(),
            "train_forward" => t.train_forward(),
            "rate" => t.set_lr(0.5),
            "rows" => t.set_input(&t.zeros(&[3, 1])?),
            _ => bail!("nobody knows how to {}", self.what),
        }
    }
}

#[hook(mutates = "grads")]
impl Hook for Meddler {
    fn before_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if self.what == "rows" { self.meddle(t) } else { Ok(()) }
    }
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.meddle(t)
    }
    fn after_val_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.meddle(t)
    }
}

fn model() -> FakeTrainer {
    FakeTrainer::new().param("w", [2.0]).grad("w", [1.0]).input([[1.0], [2.0]]).layer("fc", [1.0])
}

fn meddling(what: &str) -> FakeTrainer {
    model().hook::<Meddler>(settings! { what = what }).unwrap()
}

fn refused(what: &str) -> String {
    meddling(what).train_iter().unwrap_err().to_string()
}

#[test]
fn a_change_that_mutates_does_not_declare_is_refused() {
    for what in
        ["scale the weights", "zero a row", "scale what is shared", "copy the weights over ranks"]
    {
        let error = refused(what);
        let expected = "would change a parameter or buffer of the model, which the hook does not declare: add \"params\" to its \
                        `mutates`, or copy the tensor first";
        assert!(error.ends_with(expected), "{error}");
    }
    for (what, word) in
        [("freeze", "set_trainable"), ("step", "optimizer_step"), ("rate", "set_lr")]
    {
        let error = refused(what);
        assert!(
            error.contains(&format!("{word}() changes ")) && error.contains("for roles"),
            "{error}"
        );
    }
    for allowed in ["scale the gradients", "scale a copy", "sum the gradients over ranks"] {
        meddling(allowed).train_iter().unwrap();
    }
}

#[test]
fn the_output_of_a_layer_is_read_only() {
    let error = refused("scale a layer");
    let expected = "would change the output of a layer, which is read-only: copy the tensor first";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_metric_must_not_change_the_run() {
    #[derive(Settings)]
    struct Scaled {
        #[param(state)]
        count: u64,
    }
    #[metric]
    impl Metric for Scaled {
        fn update(&mut self, t: &mut Trainer) -> Result<()> {
            t.loss()?.mul_(2.0)
        }
        fn compute(&self) -> f64 {
            f64::NAN
        }
        fn reset(&mut self) {
            self.count = 0;
        }
        fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
            self.count += other.value::<u64>("count")?;
            Ok(())
        }
    }
    let mut t = model().loss(1.0).metric::<Scaled>(settings! {}).unwrap();
    let error = t.train_iter().unwrap_err().to_string();
    assert!(
        error.ends_with(
            "would change the loss: a metric must not change the run; copy the tensor first"
        ),
        "{error}"
    );
}

#[test]
fn another_number_of_rows_is_refused() {
    #[derive(Settings)]
    struct Cropper {
        rows: i64,
    }
    #[hook(mutates = "input")]
    impl Hook for Cropper {
        fn before_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
            t.set_input(&t.zeros(&[self.rows, 1])?)
        }
    }
    let cropped =
        |rows: i64| model().hook::<Cropper>(settings! { rows = rows }).unwrap().train_iter();
    cropped(2).unwrap();
    let error = cropped(3).unwrap_err().to_string();
    let expected = "the new input has shape [3, 1], but the batch has 2 rows: the number of rows must not change";
    assert!(error.ends_with(expected), "{error}");
    let error = refused("rows");
    assert!(error.contains("set_input() would change the input of the batch"), "{error}");
}

/// Holds the forward role, and may run it by itself.
#[derive(Settings)]
struct Holder {
    #[param(default = false)]
    recurs: bool,
}

#[hook(mutates = "output, loss")]
impl Hook for Holder {
    fn on_iter_forward(&mut self, t: &mut Trainer) -> Result<()> {
        if self.recurs {
            return t.train_forward();
        }
        t.forward()?;
        t.criterion()
    }
}

#[test]
fn a_forward_pass_past_the_hook_that_holds_the_role_is_refused() {
    let error = refused("forward");
    assert!(error.contains("forward() changes the output of the model"), "{error}");
    let mut t = meddling("forward").hook::<Holder>(settings! {}).unwrap();
    let error = t.train_iter().unwrap_err().to_string();
    let expected = "forward() by `Meddler` would bypass `Holder`, which has the role on_iter_forward: call train_forward()";
    assert!(error.contains(expected), "{error}");
    meddling("train_forward").hook::<Holder>(settings! {}).unwrap().train_iter().unwrap();
}

#[test]
fn the_forward_role_runs_in_training_only_and_not_by_itself() {
    let error = meddling("train_forward").validate(1).unwrap_err().to_string();
    let expected = "train_forward() is only available in training; the phase is val";
    assert!(error.ends_with(expected), "{error}");
    let mut t = model().hook::<Holder>(settings! { recurs = true }).unwrap();
    let error = t.train_iter().unwrap_err().to_string();
    let expected = "train_forward() calls `Holder`, which has the role on_iter_forward and is itself being called";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn layers_and_parameters_are_chosen_by_the_host_s_patterns() {
    let mut t = FakeTrainer::new()
        .layer("layer1.0", [1.0])
        .layer("layer1.10", [1.0])
        .layer("fc", [1.0])
        .param("fc.weight", [1.0])
        .param("fc.bias", [1.0]);
    for (pattern, count) in [("layer1.?", 1), ("{layer1.*,fc}", 3), ("layer1.[01]*", 2)] {
        assert_eq!(t.with(|t| t.watch_layers(pattern)).unwrap().len(), count, "{pattern}");
    }
    assert_eq!(t.with(|t| t.set_trainable("fc.{bias,weight}", false)).unwrap(), 2);
    let error = t.with(|t| t.watch_layers("layer[").err()).unwrap().to_string();
    assert!(
        error.starts_with("`layer[` is not a valid pattern: unclosed character class"),
        "{error}"
    );
}
