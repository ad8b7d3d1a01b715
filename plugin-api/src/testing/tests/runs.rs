//! The order of points, roles, failures and metrics of a fake run.

use crate::prelude::*;
use crate::settings;
use crate::testing::FakeTrainer;

/// Fails or panics at a point.
#[derive(Deserialize)]
struct Faulty {
    at: String,
    #[serde(default)]
    panics: bool,
}

impl Faulty {
    fn called(&self, point: &str) -> Result<()> {
        if self.at != point {
            return Ok(());
        }
        assert!(!self.panics, "it panicked on purpose");
        bail!("it failed on purpose")
    }
}

#[hook]
impl Hook for Faulty {
    fn before_eval(&mut self, _t: &mut Trainer) -> Result<()> {
        self.called("before_eval")
    }
    fn after_val_iter(&mut self, _t: &mut Trainer) -> Result<()> {
        self.called("after_val_iter")
    }
    fn after_eval(&mut self, _t: &mut Trainer) -> Result<()> {
        self.called("after_eval")
    }
    fn before_val(&mut self, _t: &mut Trainer) -> Result<()> {
        self.called("before_val")
    }
    fn on_exception(&mut self, t: &mut Trainer) -> Result<()> {
        ensure!(t.outcome() == Some(Outcome::Failed), "the outcome is not known");
        t.put_state("told", t.failure().unwrap_or_default())
    }
}

fn faulty(at: &str, panics: bool) -> FakeTrainer {
    FakeTrainer::new().hook::<Faulty>(settings! { at = at, panics = panics }).unwrap()
}

fn tail(t: &FakeTrainer, from: Point) -> String {
    let at = t.points().iter().rposition(|point| *point == from).unwrap();
    t.points()[at..].iter().map(|point| point.name()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_failure_names_hook_and_point_and_is_followed_by_the_points_of_a_failed_run() {
    let mut t = faulty("after_val_iter", false);
    let error = t.fit(2, 2).unwrap_err().to_string();
    assert_eq!(
        error,
        "hook `Faulty` failed at after_val_iter, epoch 1, iteration 2: it failed on purpose"
    );
    assert_eq!(
        tail(&t, Point::AfterValIter),
        "after_val_iter after_eval on_exception after_train after_run on_detach"
    );
    assert_eq!(t.state("told"), Some(Value::from(error)));
}

#[test]
fn after_eval_follows_a_before_eval_that_failed_and_no_other() {
    let mut t = faulty("before_eval", false);
    t.fit(1, 1).unwrap_err();
    assert_eq!(
        tail(&t, Point::BeforeEval),
        "before_eval after_eval on_exception after_train after_run on_detach"
    );
    let mut t = faulty("before_val", false);
    t.fit(1, 1).unwrap_err();
    assert_eq!(
        tail(&t, Point::BeforeVal),
        "before_val on_exception after_train after_run on_detach"
    );
}

#[test]
fn a_panic_is_a_result_and_the_hook_is_not_called_again() {
    let mut t = faulty("after_val_iter", true);
    let error = t.fit(1, 1).unwrap_err().to_string();
    assert!(error.contains("panicked") && error.ends_with("it panicked on purpose"), "{error}");
    assert_eq!(t.state("told"), None);
}

/// Holds the forward role.
#[derive(Deserialize)]
struct Doubled {}

#[hook(mutates = "loss")]
impl Hook for Doubled {
    fn on_train_forward(&mut self, t: &mut Trainer) -> Result<()> {
        t.forward()?;
        let loss = t.output()?.mul(2.0)?.mean()?;
        t.set_loss(&loss)
    }
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let refused = t.set_loss(&t.loss()?).unwrap_err().to_string();
        ensure!(
            refused.starts_with("the loss cannot be set at after_train_iter: only a role"),
            "{refused}"
        );
        t.put_scalar("loss", t.loss()?.item()?)
    }
}

/// Moves the weights before a second pass, as SAM does.
#[derive(Deserialize)]
struct Ascends {}

#[hook(mutates = "params, grads")]
impl Hook for Ascends {
    fn on_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        let weights = t.params().clone_detached()?;
        t.params().add_(&t.grads().clone_detached()?)?;
        t.grads().zero_()?;
        t.train_forward()?;
        t.backward()?;
        t.params().copy_(&weights)?;
        t.optimizer_step()
    }
}

#[test]
fn roles_are_held_by_hooks_and_one_runs_another_s() {
    let mut t = FakeTrainer::new()
        .param("w", [2.0])
        .lr(1.0)
        .input([3.0])
        .model(|input, params| Ok(input.map(|x| x * params[0].values()[0])))
        .gradient(|params| Ok(vec![params[0].map(|w| w * 0.5)]))
        .hook::<Doubled>(settings! {})
        .unwrap()
        .hook::<Ascends>(settings! {})
        .unwrap();
    t.train_iter().unwrap();
    // The gradient at 2 is 1; at 3 it is 1.5, and the loss 2 * 3 * 3.
    assert_eq!((t.weights("w").unwrap(), t.scalar("loss")), (vec![0.5], Some(18.0)));
}

/// The share of outputs that are right.
#[derive(Deserialize)]
struct Right {
    #[serde(skip)]
    sums: [f64; 2],
}

#[metric(better = "higher")]
impl Metric for Right {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        for hit in t.output()?.argmax(1, false)?.eq(&t.label()?)?.to_vec::<u8>()? {
            self.sums[0] += f64::from(hit);
            self.sums[1] += 1.0;
        }
        Ok(())
    }
    fn compute(&self) -> f64 {
        self.sums[0] / self.sums[1]
    }
    fn reset(&mut self) {
        self.sums = [0.0; 2];
    }
    fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        let other: Vec<f64> = other.value("sums")?;
        self.sums.iter_mut().zip(other).for_each(|(own, other)| *own += other);
        Ok(())
    }
    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("sums", self.sums.to_vec())
    }
}

#[test]
fn a_metric_is_updated_computed_saved_and_merged() {
    let measured = || {
        FakeTrainer::new()
            .output([[0.9, 0.1], [0.2, 0.8]])
            .label([0_i64, 0])
            .val_iters(3)
            .metric::<Right>(settings! {})
            .unwrap()
    };
    let mut t = measured();
    t.fit(1, 1).unwrap();
    assert_eq!((t.metric_of(Phase::Val, "Right"), t.scalar("val/Right")), (Some(0.5), Some(0.5)));
    let saved = t.save_state().unwrap().states["Right"].clone();
    t.merge_metric("Right", &saved).unwrap();
    let merged = t.save_state().unwrap().states["Right"].value("sums").cloned();
    assert_eq!(merged, Some(Value::from(vec![6.0, 12.0])));
}

#[test]
fn a_function_of_the_test_that_panics_is_an_error_of_the_call() {
    let mut t = FakeTrainer::new().input([1.0]).model(|_, _| panic!("no model"));
    let error = t.with(Trainer::forward).unwrap_err().to_string();
    assert!(error.contains("no model"), "{error}");
}
