//! Models in stages, walked by the tables of all schedules in one process: parameters, gradients and buffers are those of the
//! whole model with as many micro-batches, to the last bit.

use std::collections::{HashMap, VecDeque};

use hookrack_plugin_api::Value;
use hookrack_torch::{autograd, rng};
use tch::{Device, Kind, Tensor};

use crate::data::{DataSpec, Target};
use crate::model::{BuiltUnits, MODELS, Mode, Model, ModelContext};
use crate::registry::{Build as _, Choice};
use crate::schedule::{
    Action, GPipe, Interleaved1F1B, Layout, Message, MicroPart, OneFOneB, Order, Payload, Table,
    check,
};
use crate::stages::balanced;

const MICROS: u32 = 4;
const ROWS: i64 = 2;

struct Case {
    name: &'static str,
    settings: Vec<(&'static str, Value)>,
    data: DataSpec,
}

fn cases() -> Vec<Case> {
    let image = || DataSpec { input: vec![1, 16, 16], target: Target::Classes(3) };
    let number = |count: i64| Value::from(count);
    let list = |counts: &[i64]| Value::from(counts.to_vec());
    vec![
        Case {
            name: "MLP",
            settings: vec![("hidden", list(&[8, 9, 10, 11, 12, 13, 14]))],
            data: image(),
        },
        Case {
            name: "LeNet",
            settings: vec![
                ("kernel", number(3)),
                ("hidden", list(&[12, 11, 10, 9, 8])),
                ("activation", "tanh".into()),
            ],
            data: image(),
        },
        Case {
            name: "ResNet",
            settings: vec![("width", number(4)), ("stem", "cifar".into())],
            data: image(),
        },
        Case {
            name: "GPT",
            settings: vec![("layers", number(6)), ("heads", number(2)), ("width", number(8))],
            data: DataSpec { input: vec![5], target: Target::Tokens(11) },
        },
    ]
}

fn build(case: &Case, made: BuiltUnits) -> Box<dyn Model> {
    rng::seed(3);
    let context = ModelContext { made, ..ModelContext::new(case.data.clone(), Device::Cpu) };
    Choice::new(case.name, &case.settings).build(MODELS, &context).unwrap()
}

/// The micro-batches of an iteration.
fn micro_batches(case: &Case) -> Vec<Tensor> {
    let shape = [&[i64::from(MICROS) * ROWS], case.data.input.as_slice()].concat();
    let whole = if case.data.has_tokens() {
        Tensor::randint(11, shape, (Kind::Int64, Device::Cpu))
    } else {
        Tensor::randn(shape, (Kind::Float, Device::Cpu))
    };
    (0..i64::from(MICROS)).map(|micro| whole.narrow(0, micro * ROWS, ROWS)).collect()
}

fn loss(output: &Tensor) -> Tensor {
    output.square().mean(Kind::Float)
}

/// Names and bits of parameters, gradients and buffers.
fn state(model: &dyn Model, state: &mut HashMap<String, Vec<f32>>) {
    let bits = |tensor: &Tensor| {
        Vec::try_from(tensor.detach().to_kind(Kind::Float).flatten(0, -1)).unwrap()
    };
    for named in model.params().iter().chain(model.buffers()) {
        state.insert(named.name.clone(), bits(&named.tensor));
        if named.tensor.requires_grad() {
            state.insert(format!("{}.grad", named.name), bits(&named.tensor.grad()));
        }
    }
}

/// A stage: its model, and the parts between their passes.
struct Stage {
    model: Box<dyn Model>,
    units: Vec<std::ops::Range<usize>>,
    live: HashMap<MicroPart, (Tensor, Tensor)>,
    grads: HashMap<MicroPart, Tensor>,
    actions: VecDeque<Action>,
}

/// All stages, and the messages between them by receiver.
struct Walk {
    layout: Layout,
    stages: Vec<Stage>,
    in_transit: HashMap<(u32, Payload, MicroPart), Tensor>,
    micros: Vec<Tensor>,
}

impl Walk {
    fn new(case: &Case, order: Order, layout: Layout, micros: Vec<Tensor>) -> Self {
        let plan = build(case, BuiltUnits::None);
        assert!(plan.params().is_empty(), "nothing is made to find out what there is");
        #[expect(clippy::cast_precision_loss, reason = "a small model")]
        let costs: Vec<_> = plan.info().units.iter().map(|unit| unit.params as f64).collect();
        let ranges = balanced(&costs, (layout.stages * layout.chunks) as usize).unwrap();
        let layout = Layout { tied: !plan.info().shared.is_empty(), ..layout };
        let table = Table::new(order, layout);
        check(&table).unwrap();
        let stage = |stage: u32| {
            let chunks = (0..layout.chunks).map(|chunk| (chunk * layout.stages + stage) as usize);
            let units: Vec<_> = chunks.map(|place| ranges[place].clone()).collect();
            let model = build(case, BuiltUnits::Some(units.clone()));
            let actions = table.stages()[stage as usize].iter().copied().collect();
            Stage { model, units, live: HashMap::new(), grads: HashMap::new(), actions }
        };
        let stages: Vec<_> = (0..layout.stages).map(stage).collect();
        Self { layout, stages, in_transit: HashMap::new(), micros }
    }

    /// Copies the values of parameters to their copies.
    fn fill_copies(&mut self) {
        let copies = self.stages.iter().flat_map(|stage| &stage.model.info().copies);
        for copy in copies {
            let owners = self.stages.iter().flat_map(|stage| stage.model.params());
            let owner = owners.into_iter().find(|own| own.name == copy.name).unwrap();
            copy.tensor.detach().copy_(&owner.tensor.detach());
        }
    }

    /// Advances every stage as far as possible, until all have finished.
    fn run(&mut self) {
        self.fill_copies();
        while self.stages.iter().any(|stage| !stage.actions.is_empty()) {
            for number in 0..self.layout.stages {
                while self.step(number) {}
            }
        }
        assert!(
            self.in_transit.is_empty() && self.stages.iter().all(|stage| stage.live.is_empty())
        );
    }

    /// One action of a stage; false if it waits or has finished.
    fn step(&mut self, number: u32) -> bool {
        let stage = &mut self.stages[number as usize];
        let Some(action) = stage.actions.front().copied() else { return false };
        match action {
            Action::Recv(Message { payload, part, .. }) => {
                let Some(tensor) = self.in_transit.remove(&(number, payload, part)) else {
                    return false;
                };
                stage.take(payload, part, tensor);
            }
            Action::Forward(part) => stage.forward(part, &self.micros),
            Action::Backward(part) => stage.backward(part, self.layout, number),
            Action::Send(Message { payload, part, peer }) => {
                let tensor = stage.outgoing(payload, part, self.layout, peer);
                assert!(self.in_transit.insert((peer, payload, part), tensor).is_none());
            }
            Action::Reduce => {}
        }
        self.stages[number as usize].actions.pop_front();
        true
    }
}

impl Stage {
    fn take(&mut self, payload: Payload, part: MicroPart, tensor: Tensor) {
        match payload {
            Payload::Activation => {
                let input = tensor.set_requires_grad(true);
                self.live.insert(part, (input, Tensor::new()));
            }
            Payload::Gradient => drop(self.grads.insert(part, tensor)),
            Payload::Tied => {
                // Autograd adds it to the gradient of this micro-batch's own pass before it adds both to those of earlier ones.
                let (input, output) = self.live.remove(&part).unwrap();
                let weight = &self.model.params()[0].tensor;
                let grad = self.grads.remove(&part).unwrap();
                let both = (&output * grad).sum(Kind::Float) + (weight * tensor).sum(Kind::Float);
                self.live.insert(part, (input, both));
            }
        }
    }

    fn forward(&mut self, part: MicroPart, micros: &[Tensor]) {
        let first = || micros[part.micro as usize].shallow_clone();
        let input = self.live.remove(&part).map_or_else(first, |(input, _)| input);
        let units = self.units[part.chunk as usize].clone();
        let output = self.model.forward_units(units, &input, Mode::Train).unwrap();
        self.live.insert(part, (input, output));
    }

    fn backward(&mut self, part: MicroPart, layout: Layout, number: u32) {
        let (_, output) = &self.live[&part];
        if layout.after(number, part.chunk).is_none() {
            autograd::backward(&(loss(output) * (1.0 / f64::from(MICROS)))).unwrap();
        } else if let Some(grad) = self.grads.remove(&part) {
            autograd::backward_from(output, &grad).unwrap();
        } else {
            autograd::backward(output).unwrap();
        }
        if layout.before(number, part.chunk).is_none() {
            self.live.remove(&part);
        }
    }

    /// What is sent; `part` is the receiver's.
    fn outgoing(&mut self, payload: Payload, part: MicroPart, layout: Layout, peer: u32) -> Tensor {
        match payload {
            Payload::Activation => {
                let (_, chunk) = layout.before(peer, part.chunk).unwrap();
                self.live[&MicroPart { chunk, ..part }].1.detach()
            }
            Payload::Gradient => {
                let (_, chunk) = layout.after(peer, part.chunk).unwrap();
                self.live.remove(&MicroPart { chunk, ..part }).unwrap().0.grad()
            }
            Payload::Tied => {
                let mut copy = self.model.info().copies[0].tensor.shallow_clone();
                let grad = copy.grad().copy();
                copy.zero_grad();
                grad
            }
        }
    }
}

fn compare(case: &Case, order: Order, layout: Layout) {
    let whole = build(case, BuiltUnits::All);
    let micros = micro_batches(case);
    for micro in &micros {
        let output = whole.forward(micro, Mode::Train).unwrap();
        autograd::backward(&(loss(&output) * (1.0 / f64::from(MICROS)))).unwrap();
    }
    let mut wanted = HashMap::new();
    state(whole.as_ref(), &mut wanted);
    let mut walk = Walk::new(case, order, layout, micros);
    walk.run();
    let mut found = HashMap::new();
    walk.stages.iter().for_each(|stage| state(stage.model.as_ref(), &mut found));
    let mut names: Vec<_> = wanted.keys().collect();
    names.sort();
    let count = walk.stages.iter().map(|stage| stage.model.params().len()).sum::<usize>();
    assert_eq!(count, whole.params().len(), "every parameter is on one stage");
    for name in names {
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found[name]), bits(&wanted[name]), "{} {name} {layout:?}", case.name);
    }
}

#[test]
fn stages_of_every_model_compute_what_the_whole_does_under_every_schedule() {
    for case in cases() {
        for stages in [2, 4] {
            let layout = |chunks| Layout { stages, micros: MICROS, chunks, tied: false };
            compare(&case, GPipe::ORDER, layout(1));
            compare(&case, OneFOneB::ORDER, layout(1));
            compare(&case, Interleaved1F1B::ORDER, layout(if stages == 2 { 4 } else { 2 }));
        }
    }
}
