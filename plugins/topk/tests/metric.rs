//! `TopK` through a validation, without a host.

use hookrack_plugin_api::settings;
use hookrack_plugin_api::testing::{FakeTensor, FakeTrainer};
use hookrack_plugin_api::{Phase, Result};
use topk::TopK;

fn measured(output: impl Into<FakeTensor>, label: impl Into<FakeTensor>) -> Result<FakeTrainer> {
    FakeTrainer::new().output(output).label(label).metric::<TopK>(settings! { k = 2 })
}

#[test]
fn the_label_is_among_the_two_largest_outputs() -> Result<()> {
    let mut t = measured([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], [2_i64, 2])?;
    t.validate(3)?;
    assert_eq!(t.metric_of(Phase::Val, "TopK"), Some(0.5));
    Ok(())
}

#[test]
fn outputs_of_another_precision_are_converted_and_other_shapes_refused() -> Result<()> {
    let output = FakeTensor::from([[0.1, 0.7, 0.2]]).double();
    let mut t = measured(output, [1_i64])?;
    t.validate(1)?;
    assert_eq!(t.metric_of(Phase::Val, "TopK"), Some(1.0));
    let error = measured([0.1, 0.7], [1_i64])?.validate(1).err().map(|error| error.to_string());
    let expected = "metric `TopK` failed at after_val_iter, epoch 0, iteration 0: \
                    expected an output of shape [samples, classes], found shape [2]";
    assert_eq!(error.as_deref(), Some(expected));
    Ok(())
}
