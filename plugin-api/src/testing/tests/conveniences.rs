//! What saves an author lines: fields that are state, settings that are models and layers, a loss of one's own, random numbers.

use crate::prelude::*;
use crate::settings;
use crate::testing::FakeTrainer;
use std::cell::RefCell;
use std::rc::Rc;

/// Keeps one of everything that a field may be.
#[derive(Settings)]
struct Keeper {
    /// A setting is not state.
    #[param(default = 1.0)]
    rate: f64,
    #[param(state)]
    steps: u64,
    #[param(state)]
    best: Option<f64>,
    #[param(state)]
    names: Vec<String>,
    #[param(state)]
    first: Option<Tensor>,
    #[param(state)]
    copies: TensorList,
    #[param(skip)]
    forgotten: u64,
}

#[hook]
impl Hook for Keeper {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.copies.init(&t.params())
    }
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.steps += 1;
        self.forgotten += 1;
        self.names.push(format!("step {}", t.iter()));
        if self.first.is_none() {
            self.first = Some(t.full(&[2], self.rate)?);
            self.best = (t.iter() > 1).then_some(0.5);
        }
        t.put_scalar("forgotten", f64::from(u32::try_from(self.forgotten)?))
    }
}

fn keeper() -> FakeTrainer {
    FakeTrainer::new().param("w", [1.0, 2.0]).hook::<Keeper>(settings! { rate = 3.0 }).unwrap()
}

#[test]
fn state_fields_are_saved_and_restored_and_others_start_over() {
    let mut t = keeper();
    t.fit(1, 2).unwrap();
    let saved = t.checkpoint().unwrap().clone();
    let state = &saved.states["Keeper"];
    assert_eq!(state.value("steps"), Some(&Value::Int(2)));
    assert_eq!(state.value("names"), Some(&Value::from(vec!["step 1", "step 2"])));
    assert_eq!(state.value("best"), None, "an absent value is not saved");
    assert_eq!((state.value("rate"), state.value("forgotten")), (None, None));
    assert_eq!(state.tensor("first").unwrap().values(), [3.0, 3.0]);
    assert_eq!(state.tensor("copies.0").unwrap().values(), [1.0, 2.0]);

    let mut resumed = keeper();
    resumed.set_weights("w", [9.0, 9.0]).unwrap();
    resumed.resume(&saved).unwrap();
    resumed.fit(2, 2).unwrap();
    let state = resumed.checkpoint().unwrap().states["Keeper"].clone();
    assert_eq!(state.value("steps"), Some(&Value::Int(4)));
    assert_eq!(state.tensor("copies.0").unwrap().values(), [1.0, 2.0], "those of the checkpoint");
    assert_eq!(resumed.scalar_values("forgotten"), [1.0, 2.0]);
}

#[test]
fn a_restored_list_moves_to_the_device_of_what_it_would_be_a_copy_of() {
    let mut t = keeper();
    t.fit(1, 1).unwrap();
    let saved = t.checkpoint().unwrap().clone();
    let moves = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&moves);
    let mut resumed = keeper().op("aten::to.dtype_layout", move |args| {
        let (tensor, device) = (args.tensor(0)?, args.get(3));
        seen.borrow_mut().push((tensor.values(), format!("{device:?}")));
        Ok(vec![tensor.clone().into()])
    });
    resumed.resume(&saved).unwrap();
    resumed.fit(2, 1).unwrap();
    assert_eq!(*moves.borrow(), [(vec![1.0, 2.0], "Text(\"cpu\")".to_owned())]);
}

#[test]
fn a_checkpoint_without_a_field_is_an_error_that_names_it() {
    let mut t = keeper();
    t.fit(1, 1).unwrap();
    let mut saved = t.checkpoint().unwrap().clone();
    saved.states.get_mut("Keeper").unwrap().values.retain(|(key, _)| key != "steps");
    let error = keeper().resume(&saved).unwrap_err().to_string();
    assert_eq!(error, "hook `Keeper` at load_state: no `steps` was saved");
}

#[test]
fn a_hook_has_state_where_a_field_or_a_method_says_so() {
    use crate::HookInfo as _;
    #[derive(Settings)]
    struct Plain {}
    #[hook]
    impl Hook for Plain {}
    const { assert!(Keeper::HAS_STATE && !Plain::HAS_STATE) };
}

/// A loss of its own, beside a second model and layers.
#[derive(Settings)]
struct DistilledLoss {
    teacher: SecondModel,
    #[param(default = "fc*")]
    layers: Layers,
}

#[hook(mutates = "output, loss")]
impl Hook for DistilledLoss {
    fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
        let early = self.teacher.forward(&t.zeros(&[1])?).err().map(|error| error.to_string());
        ensure!(early.is_some_and(|said| said.contains("call `build` in on_attach")), "not built");
        self.layers.watch(t)?;
        self.teacher.build(t)
    }
    fn on_iter_forward(&mut self, t: &mut Trainer) -> Result<()> {
        let wanted = self.teacher.forward(&t.input()?)?;
        t.forward_with_loss(|output, label| ((output - label)? + wanted)?.mean())
    }
    fn after_forward(&mut self, t: &mut Trainer) -> Result<()> {
        for layer in &self.layers {
            t.put_scalar(
                &format!("layer/{}", layer.name()),
                t.layer_output(layer)?.sum()?.item()?,
            )?;
        }
        Ok(())
    }
}

#[test]
fn a_model_and_layers_are_settings_and_prediction_needs_no_label() {
    let mut t = FakeTrainer::new()
        .input([4.0])
        .label([1.0])
        .layer("fc1", [1.0, 2.0])
        .layer("conv", [5.0])
        .second_model(|input| Ok(input.map(|x| 10.0 * x)))
        .hook::<DistilledLoss>(settings! { teacher = Value::Table(Vec::new()) })
        .unwrap();
    t.train_iter().unwrap();
    // 4 - 1 + 40
    t.fire(Point::OnTrainForward).unwrap();
    assert_eq!(t.current_loss(), Some(43.0));
    assert_eq!((t.scalar("layer/fc1"), t.scalar("layer/conv")), (Some(3.0), None));
    t.predict(1).unwrap();
}

#[test]
fn random_numbers_are_in_their_range_and_a_beta_without_one_is_refused() {
    let mut t = FakeTrainer::new();
    for shape in [0.05, 0.5, 1.0, 8.0] {
        let drawn = t.with(|t| t.beta(shape, 2.0)).unwrap();
        assert!((0.0..=1.0).contains(&drawn), "{drawn}");
    }
    assert!((0.0..1.0).contains(&t.with(|t| t.random()).unwrap()));
    let error = t.with(|t| t.beta(0.0, 1.0)).unwrap_err().to_string();
    assert_eq!(error, "Beta(0, 1): both must be above 0");
}

#[test]
fn dimensions_from_one_on_and_tensors_that_are_there() {
    let mut t = FakeTrainer::new().param("a", [1.0]).param("b", [1.0]).grad("b", [2.0]);
    t.fire(Point::OnTrainForward).unwrap();
    t.fire(Point::OnIterBackward).unwrap();
    t.with(|t| -> Result<()> {
        assert_eq!(t.zeros(&[2, 3, 4])?.dims(1)?, [1, 2]);
        assert_eq!(t.zeros(&[2])?.dims(1)?, [0; 0]);
        assert_eq!((t.grads().len(), t.grads().present().count()), (2, 1));
        Ok(())
    })
    .unwrap();
}

/// Adds its gradient to each parameter that has one, and doubles the one that the setting names.
#[derive(Settings)]
struct ByName {
    param: String,
}

#[hook(mutates = "params")]
impl Hook for ByName {
    fn after_backward(&mut self, t: &mut Trainer) -> Result<()> {
        for named in t.named_params()? {
            if let Some(grad) = named.grad {
                named.param.add_(&grad)?;
                t.put_scalar(&format!("moved/{}", named.name), named.param.sum()?.item()?)?;
            }
        }
        t.param(&self.param)?.mul_(2.0)
    }
}

#[test]
fn parameters_are_found_by_their_names_and_a_wrong_name_is_told_the_nearest() {
    let by_name = |param: &str| {
        FakeTrainer::new()
            .param("fc.weight", [1.0, 2.0])
            .param("fc.bias", [5.0])
            .grad("fc.weight", [0.5, 0.5])
            .lr(0.0)
            .hook::<ByName>(settings! { param = param })
            .unwrap()
    };
    let mut t = by_name("fc.bias");
    t.train_iter().unwrap();
    assert_eq!(t.weights("fc.weight").unwrap(), [1.5, 2.5]);
    assert_eq!(t.weights("fc.bias").unwrap(), [10.0]);
    assert_eq!((t.scalar("moved/fc.weight"), t.scalar("moved/fc.bias")), (Some(4.0), None));
    for (wrong, said) in [
        ("fc.wieght", "the model has no parameter `fc.wieght`: did you mean `fc.weight`?"),
        ("conv1", "the model has no parameter `conv1`"),
    ] {
        let error = by_name(wrong).train_iter().unwrap_err().to_string();
        assert!(error.ends_with(said), "{error}");
    }
}

#[test]
fn numbers_of_any_type_are_operands_and_a_list_is_joined() {
    FakeTrainer::new()
        .with(|t| -> Result<()> {
            let x = t.tensor(&[1_i64, 2, 3], &[3])?;
            assert_eq!(((&x * 2)? + 1_u32)?.to_vec::<i64>()?, [3, 5, 7]);
            assert_eq!((&x * 0.5_f32)?.to_vec::<f32>()?, [0.5, 1.0, 1.5]);
            let parts = x.split(2, 0)?;
            assert_eq!((parts.len(), parts.cat(0)?.to_vec::<i64>()?), (2, vec![1, 2, 3]));
            let mut two = TensorList::default();
            let empty = two.stack(0).err().map(|error| error.to_string());
            assert_eq!(empty.as_deref(), Some("aten::stack: no tensors"));
            two.push(x.neg()?)?;
            two.push(x)?;
            assert_eq!(two.stack(1)?.shape()?, [3, 2]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_history_has_all_that_is_asked_for_and_a_median_leaves_nan_out() {
    FakeTrainer::new()
        .with(|t| -> Result<()> {
            let (key, nan) = (t.scalar_key("norm", true)?, t.scalar_key("nan", true)?);
            assert!(t.history(key, usize::MAX)?.is_empty());
            for number in 0..3000_u32 {
                t.put(key, f64::from(number))?;
            }
            let values = |points: Vec<ScalarPoint>| -> Vec<_> {
                points.into_iter().map(|point| point.value).collect()
            };
            assert_eq!(values(t.history(key, 2)?), [2998.0, 2999.0]);
            let all = values(t.history(key, usize::MAX)?);
            assert_eq!((all.len(), all.first(), all.last()), (3000, Some(&0.0), Some(&2999.0)));
            t.put(key, f64::NAN)?;
            t.put(nan, f64::NAN)?;
            assert_eq!((t.median(key, 3)?, t.median(nan, 3)?), (Some(2998.5), None));
            Ok(())
        })
        .unwrap();
}
