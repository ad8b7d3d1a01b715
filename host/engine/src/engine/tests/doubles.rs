//! In 64 bits every tensor is a double, from the values of 32 bits.

use super::*;
use crate::data::Target;

/// An engine for made-up data of a shape: floats or tokens, and labels of a kind.
fn on_data(model: Choice, loss: Choice, data: &DataSpec, precision: Precision) -> Engine {
    let adamw = Choice::new("AdamW", &[("lr", 0.01.into())]);
    let clip = ClipLimits { norm: 0.5, value: 0.1, ..ClipLimits::default() };
    let builder = Engine::builder().model(model).loss(loss).optimizer(adamw).clip(clip).seed(3);
    builder.accumulation(2).precision(precision).build(data).unwrap()
}

/// Models, losses and data; labels that are numbers are floats.
fn wide_cases() -> Vec<(Choice, Choice, DataSpec)> {
    let images = |target| DataSpec { input: vec![3, 8, 8], target };
    let weights = Value::List([1.0, 0.3, 2.0, 0.0].map(Value::from).to_vec());
    let weighed = [("class_weights", weights), ("label_smoothing", 0.1.into())];
    let resnet = [("stem", "cifar".into()), ("width", 4_i64.into())];
    let gpt = [("layers", 1_i64.into()), ("heads", 1_i64.into()), ("width", 8_i64.into())];
    let cross_entropy = |settings: &[(&str, Value)]| Choice::new("CrossEntropy", settings);
    vec![
        (Choice::new("ResNet", &resnet), cross_entropy(&weighed), images(Target::Classes(4))),
        (Choice::new("ResNet", &resnet), cross_entropy(&weighed), images(Target::Shares(4))),
        (Choice::new("MLP", &[]), Choice::new("MSE", &[]), images(Target::Values(vec![2]))),
        (
            Choice::new("GPT", &gpt),
            cross_entropy(&[]),
            DataSpec { input: vec![6], target: Target::Tokens(7) },
        ),
    ]
}

fn batch_of(data: &DataSpec) -> Batch {
    let rows = |shape: &[i64]| [&[4], shape].concat();
    let whole = |shape: &[i64], most| {
        Tensor::arange(rows(shape).iter().product::<i64>(), (Kind::Int64, Device::Cpu))
            .remainder(most)
            .view(rows(shape).as_slice())
    };
    let real = |shape: &[i64]| Tensor::rand(rows(shape), (Kind::Float, Device::Cpu));
    let (input, label) = match &data.target {
        Target::Tokens(count) => (whole(&data.input, *count), whole(&data.input, *count)),
        Target::Classes(count) => (real(&data.input), whole(&[], *count)),
        Target::Shares(count) => (real(&data.input), real(&[*count]).softmax(1, Kind::Float)),
        Target::Values(shape) => (real(&data.input), real(shape)),
    };
    Batch { input, label }
}

#[test]
fn in_64_bits_all_tensors_are_doubles_from_the_values_of_32_bits() {
    for (model, loss, data) in wide_cases() {
        let told = format!("{} for {}", model.name, data.target);
        let narrow = on_data(model.clone(), loss.clone(), &data, Precision::Fp32);
        let mut engine = on_data(model, loss, &data, Precision::Fp64);
        engine.dry_run(&data).unwrap();
        for (wide, narrow) in engine.model_state().iter().zip(narrow.model_state()) {
            let same = narrow.tensor.to_kind(wide.tensor.kind());
            assert_eq!(wide.tensor, same, "{told}: {}", wide.name);
        }
        let batch = batch_of(&data);
        for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
            engine.set_memory_format(format);
            assert_eq!(engine.train_batch(&batch).unwrap().kind(), Kind::Double, "{told}");
        }
        let output = engine.infer(&batch.input, Mode::Eval).unwrap();
        assert_eq!(output.kind(), Kind::Double, "{told}");
        assert_eq!(engine.grad_norm().unwrap().kind(), Kind::Double, "{told}");
        let params = engine.params().iter().map(|it| &it.tensor);
        assert!(params.clone().all(|it| it.grad().kind() == Kind::Double), "{told}");
        let floats =
            engine.buffers().iter().map(|it| &it.tensor).filter(|it| it.is_floating_point());
        assert!(params.chain(floats).all(|it| it.kind() == Kind::Double), "{told}");
        for piece in engine.optimizer_state() {
            // libtorch's fused steps count in floats.
            let is_counter = piece.name.rsplit('.').next() == Some("step");
            let kind = if is_counter { Kind::Float } else { Kind::Double };
            assert_eq!(piece.tensor.kind(), kind, "{told}: {}", piece.name);
        }
        let weights = engine.model_state();
        if !data.has_tokens() {
            let teacher = engine.second_model(mlp_table(), None).unwrap();
            let taught = engine.infer_by(teacher.as_ref(), &batch.input).unwrap();
            assert_eq!(taught.kind(), Kind::Double, "{told}");
        }
        // A state of doubles is rounded to floats, one of floats is kept.
        let mut narrow = narrow;
        narrow.load_model_state(&InMemory::new(&weights)).unwrap();
        for (wide, narrow) in weights.iter().zip(narrow.model_state()) {
            assert_eq!(wide.tensor.to_kind(narrow.tensor.kind()), narrow.tensor, "{}", wide.name);
        }
    }
}

fn mlp_table() -> Value {
    let settings = [("type", "MLP".into()), ("outputs", 3_i64.into())];
    Value::Table(settings.map(|(key, value): (&str, Value)| (key.to_owned(), value)).into())
}

#[test]
fn no_run_changes_to_or_from_64_bits() {
    for (from, to) in [(Precision::Fp64, Precision::Fp16), (Precision::Fp32, Precision::Fp64)] {
        let mut engine = engine(mlp(&[], 1, 10).precision(from));
        let error = engine.set_precision(to).unwrap_err().to_string();
        assert!(error.starts_with("the precision cannot change to or from fp64"), "{error}");
        assert_eq!(engine.precision(), from);
        engine.set_precision(from).unwrap();
    }
}
