//! The operators of the fake trainer, against what libtorch gives. `tests/suite/author_api.rs` compares all of them with it.

use crate::testing::ops::{call, is_known};
use crate::testing::{FakeTensor, FakeTrainer, FakeValue};
use crate::{Result, Trainer};

fn tensor(values: Vec<FakeValue>) -> FakeTensor {
    match values.into_iter().next() {
        Some(FakeValue::Tensor(tensor)) => tensor,
        other => unreachable!("not a tensor: {other:?}"),
    }
}

fn matrix() -> FakeTensor {
    FakeTensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

fn of(name: &str, args: &[FakeValue]) -> FakeTensor {
    tensor(call(name, args).unwrap())
}

fn close(found: &[f64], wanted: &[f64]) -> bool {
    found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6)
}

#[test]
fn every_operator_behind_a_method_of_a_tensor_is_there() {
    let missing: Vec<_> = crate::tensor::ops::ALL.iter().map(|(op, _)| op.name()).collect();
    let missing: Vec<_> = missing.into_iter().filter(|name| !is_known(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn elementwise_operators_broadcast_and_promote_as_libtorch_does() {
    let row = FakeTensor::from([10.0, 20.0, 30.0]);
    let sum = of("aten::add.Tensor", &[matrix().into(), row.into(), FakeValue::Float(2.0)]);
    assert_eq!(
        (sum.shape(), sum.values()),
        (&[2, 3][..], vec![21.0, 42.0, 63.0, 24.0, 45.0, 66.0])
    );
    let whole = FakeTensor::from([1_i64, 2]);
    let half = of("aten::div.Scalar", &[whole.clone().into(), FakeValue::Int(2)]);
    assert_eq!((half.dtype().to_string().as_str(), half.values()), ("float32", vec![0.5, 1.0]));
    let shifted = of("aten::add.Scalar", &[whole.into(), FakeValue::Int(1)]);
    assert_eq!(shifted.dtype().to_string(), "int64");
    let wide = of("aten::mul.Tensor", &[matrix().double().into(), FakeTensor::from(2.0).into()]);
    assert_eq!(wide.dtype().to_string(), "float64");
    let error = call("aten::add.Tensor", &[matrix().into(), FakeTensor::from([1.0, 2.0]).into()]);
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "aten::add.Tensor: shapes [2, 3] and [2] cannot be broadcast");
}

#[test]
fn an_operator_in_place_changes_every_view_of_the_memory() {
    let whole = matrix();
    let row = of("aten::select.int", &[whole.clone().into(), FakeValue::Int(0), FakeValue::Int(1)]);
    of("aten::mul_.Scalar", &[row.into(), FakeValue::Float(10.0)]);
    assert_eq!(whole.values(), [1.0, 2.0, 3.0, 40.0, 50.0, 60.0]);
    let turned = of("aten::transpose.int", &[whole.into(), FakeValue::Int(0), FakeValue::Int(1)]);
    assert_eq!(
        (turned.shape(), turned.values()),
        (&[3, 2][..], vec![1.0, 40.0, 2.0, 50.0, 3.0, 60.0])
    );
}

#[test]
fn reductions_and_rows_give_libtorch_s_numbers() {
    let dims = |dims: &[i64]| FakeValue::Ints(dims.to_vec());
    let sums = of("aten::sum.dim_IntList", &[matrix().into(), dims(&[0]), FakeValue::Bool(true)]);
    assert_eq!((sums.shape(), sums.values()), (&[1, 3][..], vec![5.0, 7.0, 9.0]));
    assert!(close(&of("aten::std", &[matrix().into()]).values(), &[1.870_828_7]));
    assert!(close(&of("aten::linalg_vector_norm", &[matrix().into()]).values(), &[9.539_392]));
    let soft = of("aten::softmax.int", &[FakeTensor::from([[0.0, 0.0]]).into(), FakeValue::Int(1)]);
    assert_eq!(soft.values(), [0.5, 0.5]);
    let top =
        call("aten::topk", &[matrix().into(), FakeValue::Int(2), FakeValue::Int(-1)]).unwrap();
    let FakeValue::Tensor(places) = &top[1] else { unreachable!() };
    assert_eq!(
        (tensor(top.clone()).values(), places.values()),
        (vec![3.0, 2.0, 6.0, 5.0], vec![2.0, 1.0, 2.0, 1.0])
    );
    let nan = FakeTensor::from([1.0, f64::NAN, 3.0]);
    assert_eq!(of("aten::argmax", &[nan.into(), FakeValue::Int(0)]).values(), [1.0]);
}

#[test]
fn losses_matrices_and_picking_give_libtorch_s_numbers() {
    let logits = FakeTensor::from([[2.0, 0.0], [0.0, 1.0]]);
    let labels = FakeTensor::from([0_i64, 1]);
    let loss = of("aten::cross_entropy_loss", &[logits.clone().into(), labels.clone().into()]);
    assert!(close(&loss.values(), &[0.220_094_85]));
    let product = of("aten::matmul", &[matrix().into(), FakeTensor::from([1.0, 0.0, -1.0]).into()]);
    assert_eq!((product.shape(), product.values()), (&[2][..], vec![-2.0, -2.0]));
    let column = of("aten::unsqueeze", &[labels.into(), FakeValue::Int(1)]);
    let picked = of("aten::gather", &[logits.into(), FakeValue::Int(1), column.into()]);
    assert_eq!((picked.shape(), picked.values()), (&[2, 1][..], vec![2.0, 1.0]));
}

#[test]
fn a_missing_operator_says_how_to_add_one_and_one_of_the_test_s_own_is_called() {
    let mut t = FakeTrainer::new().param("w", [1.0]);
    let error = t.with(|t| t.op("aten::erfinv").map(drop)).unwrap_err().to_string();
    assert_eq!(
        error,
        "the fake trainer has no operator `aten::erfinv`: give it one with FakeTrainer::op(\"aten::erfinv\", |args| …)"
    );
    let mut t = FakeTrainer::new()
        .op("aten::erfinv", |args| Ok(vec![args.tensor(0)?.map(|x| x + 1.0).into()]));
    let read = |t: &mut Trainer| -> Result<f64> {
        let one = t.tensor(&[1.0_f32], &[1])?;
        t.op("aten::erfinv")?.call(&[(&one).into()])?.tensor()?.item()
    };
    assert!((t.with(read).unwrap() - 2.0).abs() < 1e-12);
}
