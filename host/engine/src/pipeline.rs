//! Pipeline: this process has one stage of the model and runs its passes on activations and gradients from the neighboring stages.

use std::cell::RefCell;
use std::ops::Range;

use tch::{Kind, Tensor};

use super::engine::Engine;
use super::error::{EngineError, Result};
use super::grad_sum::GradSum;
use super::model::Mode;
use super::named_tensor::NamedTensor;
use super::schedule::{Action, Message, MicroBatch, MicroPart, Payload};
use super::stage::Stage;
use super::stage_channel::{Expected, Sample, StageChannel};
use hookrack_torch::TensorList;
use hookrack_torch::autograd::{self, GradMode};
use hookrack_torch::dist::Group;

/// The connection of a stage to the others, and the micro-batches between their passes.
#[derive(Debug)]
pub(super) struct Pipeline {
    stage: Stage,
    // Input and output of each chunk, for one sample.
    chunk_shapes: Vec<ChunkShapes>,
    // The index of each parameter in the whole model, and the names of all parameters.
    numbers: Vec<usize>,
    names: Vec<String>,
    traffic: RefCell<Traffic>,
}

#[derive(Debug)]
struct Traffic {
    channel: StageChannel,
    live: Vec<(MicroPart, LiveMicroBatch)>,
    received: Vec<((Payload, MicroPart), Tensor)>,
    // One per chunk, created on first use; only if several ranks have this stage.
    sums: Option<Vec<GradSum>>,
}

/// The tensors of a part between its forward and its backward pass.
#[derive(Debug)]
struct LiveMicroBatch {
    input: Tensor,
    output: Tensor,
}

/// Shape and type of a chunk's input and output, for one sample.
#[derive(Debug, Clone)]
struct ChunkShapes {
    input: Sample,
    output: Sample,
}

impl Pipeline {
    /// The index of each of its parameters in the whole model.
    pub(super) fn param_numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// The type of gradients, also on a stage without parameters: activations have 16 bits in mixed precision, gradients of parameters never.
    pub(super) fn kind(&self) -> Kind {
        let is_wide = self.chunk_shapes.iter().any(|shapes| shapes.output.kind == Kind::Double);
        if is_wide { Kind::Double } else { Kind::Float }
    }

    pub(super) fn with_channel<T>(&self, act: impl FnOnce(&mut StageChannel) -> T) -> T {
        act(&mut self.traffic.borrow_mut().channel)
    }

    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Removes and returns the tensor received for a part.
    fn take(&self, payload: Payload, part: MicroPart) -> Result<Tensor> {
        let mut traffic = self.traffic.borrow_mut();
        let found = traffic.received.iter().position(|(key, _)| *key == (payload, part));
        let index = found.ok_or(EngineError::NoStage)?;
        Ok(traffic.received.swap_remove(index).1)
    }

    fn with_live<T>(
        &self,
        part: MicroPart,
        act: impl FnOnce(&LiveMicroBatch) -> Result<T>,
    ) -> Result<T> {
        let traffic = self.traffic.borrow();
        let live = traffic.live.iter().find(|(own, _)| *own == part);
        live.map_or(Err(EngineError::NoStage), |(_, live)| act(live))
    }

    fn remove_live(&self, part: MicroPart) -> Option<LiveMicroBatch> {
        let mut traffic = self.traffic.borrow_mut();
        let index = traffic.live.iter().position(|(own, _)| *own == part)?;
        Some(traffic.live.swap_remove(index).1)
    }

    /// The shape and type of a message of `rows` rows.
    fn expected(&self, message: Message, rows: i64, tied: Option<&Tensor>) -> Expected {
        let of = |sample: &Sample| ([&[rows], sample.shape.as_slice()].concat(), sample.kind);
        let shapes = &self.chunk_shapes[message.part.chunk as usize];
        let (shape, kind) = match (message.payload, tied) {
            (Payload::Activation, _) => of(&shapes.input),
            (Payload::Tied, Some(param)) => (param.size(), param.kind()),
            (Payload::Gradient | Payload::Tied, _) => of(&shapes.output),
        };
        Expected { message, shape, kind }
    }
}

/// Methods for a process with one stage of a model.
impl Engine {
    /// The stage that this process has; `None` if it has the whole model.
    pub fn stage(&self) -> Option<&Stage> {
        self.stage.as_ref()
    }

    /// The names of the parameters of all stages, in the order of the whole model.
    pub fn param_names(&self) -> Vec<String> {
        let own = || self.params().iter().map(|param| param.name.clone()).collect();
        self.pipeline.as_ref().map_or_else(own, |pipeline| pipeline.names.clone())
    }

    /// Connects this stage to the others of its pipeline, which are the ranks of `group` in order, and determines the shapes that they
    /// exchange, with one sample of zeros.
    ///
    /// # Errors
    /// Another rank failed or timed out, or the forward pass failed.
    pub fn join_pipeline(&mut self, group: Group) -> Result<()> {
        let stage = self.stage.clone().ok_or(EngineError::NoStage)?;
        let numbers = stage.param_numbers(self.model().info());
        let names = all_names(&group, &numbers, self.params())?;
        let mut channel = StageChannel::new(group, self.device());
        let chunk_shapes = self.dry_run_stage(&stage, &mut channel)?;
        let traffic = Traffic { channel, live: Vec::new(), received: Vec::new(), sums: None };
        let traffic = RefCell::new(traffic);
        self.pipeline = Some(Pipeline { stage, chunk_shapes, numbers, names, traffic });
        self.share_tied()?;
        self.finish_sends()
    }

    fn connected(&self) -> Result<&Pipeline> {
        self.pipeline.as_ref().ok_or(EngineError::NoStage)
    }

    /// Runs one sample of zeros through all stages in evaluation mode, which changes neither buffers nor the random state.
    fn dry_run_stage(&self, stage: &Stage, channel: &mut StageChannel) -> Result<Vec<ChunkShapes>> {
        let data = self.data();
        let kind = if data.has_tokens() { Kind::Int64 } else { Kind::Float };
        let mut chunk_shapes = Vec::new();
        for (chunk, units) in (0..stage.layout.chunks).zip(&stage.units) {
            let part = MicroPart { micro: 0, chunk };
            let input = match stage.layout.before(stage.number, chunk) {
                None => Sample { shape: data.input.clone(), kind },
                Some((peer, _)) => {
                    channel.recv_sample(Message { payload: Payload::Activation, part, peer })?
                }
            };
            let shape = [&[1], input.shape.as_slice()].concat();
            let one = Tensor::f_zeros(shape, (input.kind, self.device()))?;
            let given = self.pass_units(units.clone(), &one, Mode::Eval)?;
            let output = Sample { shape: given.size()[1..].to_vec(), kind: given.kind() };
            if let Some((peer, chunk)) = stage.layout.after(stage.number, chunk) {
                let part = MicroPart { chunk, ..part };
                channel
                    .send_sample(Message { payload: Payload::Activation, part, peer }, &output)?;
            }
            chunk_shapes.push(ChunkShapes { input, output });
        }
        channel.finish()?;
        Ok(chunk_shapes)
    }

    fn pass_units(&self, units: Range<usize>, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let _mode = GradMode::set(mode == Mode::Train);
        let arranged = self.memory_format().arrange(input)?;
        let input = arranged.as_ref().unwrap_or(input);
        let forward = |input: &Tensor| self.model().forward_units(units, input, mode);
        self.precision().forward(self.device(), input, forward)
    }

    /// Prepares to receive the messages of an iteration with these micro-batches. Does nothing in a process with the whole model.
    ///
    /// # Errors
    /// Another rank failed or timed out.
    pub fn expect_messages(&self, actions: &[Action], micros: &[MicroBatch]) -> Result<()> {
        let Some(pipeline) = &self.pipeline else { return Ok(()) };
        self.share_tied()?;
        let tied = self.tied_param();
        let messages = actions.iter().filter_map(|action| match *action {
            Action::Recv(message) => {
                let rows = micros.get(message.part.micro as usize).map_or(0, |micro| micro.rows);
                Some(pipeline.expected(message, rows, tied.as_ref()))
            }
            _ => None,
        });
        let messages: Vec<_> = messages.collect();
        pipeline.traffic.borrow_mut().channel.expect(messages)
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// Another rank failed or timed out.
    pub fn recv(&self, message: Message) -> Result<()> {
        let mut traffic = self.connected()?.traffic.borrow_mut();
        let tensor = traffic.channel.recv(message)?;
        traffic.received.push(((message.payload, message.part), tensor));
        Ok(())
    }

    /// Starts to send the result of a part's last pass.
    ///
    /// # Errors
    /// Another rank failed or timed out.
    pub fn send(&self, message: Message) -> Result<()> {
        let pipeline = self.connected()?;
        let layout = &pipeline.stage.layout;
        let Message { payload, part, peer } = message;
        let (own, tensor) = match payload {
            Payload::Activation => {
                let own = own_part(layout.before(peer, part.chunk), part)?;
                (own, pipeline.with_live(own, |live| Ok(live.output.shallow_clone()))?)
            }
            Payload::Gradient => {
                let own = own_part(layout.after(peer, part.chunk), part)?;
                let live = pipeline.remove_live(own).ok_or(EngineError::NoStage)?;
                let zeros = || live.input.f_zeros_like().map_err(Into::into);
                (own, autograd::grad(&live.input)?.map_or_else(zeros, Ok::<_, EngineError>)?)
            }
            Payload::Tied => (part, self.take_tied_grad()?),
        };
        pipeline.traffic.borrow_mut().channel.send(message, own, &tensor)
    }

    /// Waits until all messages of the iteration are sent.
    ///
    /// # Errors
    /// Another rank failed or timed out.
    pub fn finish_sends(&self) -> Result<()> {
        self.pipeline.as_ref().map_or(Ok(()), |it| it.traffic.borrow_mut().channel.finish())
    }

    /// The forward pass of a part in training. `input` is the input of the micro-batch, used by the first part of the model. Returns the
    /// output for the last part of the model.
    ///
    /// # Errors
    /// libtorch reports an error.
    pub fn forward_part(&self, part: MicroPart, input: &Tensor) -> Result<Option<Tensor>> {
        let pipeline = self.connected()?;
        let stage = &pipeline.stage;
        let input = if stage.begins_model(part) {
            input.shallow_clone()
        } else {
            pipeline.take(Payload::Activation, part)?.f_set_requires_grad(true)?
        };
        let units = stage.units[part.chunk as usize].clone();
        let output = self.pass_units(units, &input, Mode::Train)?;
        let given = stage.ends_model(part).then(|| output.shallow_clone());
        pipeline.traffic.borrow_mut().live.push((part, LiveMicroBatch { input, output }));
        Ok(given)
    }

    /// The backward pass of a part, from the gradient that the next stage has sent; for the last part of the model from `product`, its
    /// scaled and weighted loss.
    ///
    /// # Errors
    /// libtorch reports an error.
    pub fn backward_of_part(&self, part: MicroPart, product: Option<&Tensor>) -> Result<()> {
        let pipeline = self.connected()?;
        let _mode = GradMode::set(true);
        match product {
            Some(product) => autograd::backward(product)?,
            None => self.backward_received(pipeline, part)?,
        }
        if pipeline.stage.begins_model(part) {
            drop(pipeline.remove_live(part));
        }
        Ok(())
    }

    fn backward_received(&self, pipeline: &Pipeline, part: MicroPart) -> Result<()> {
        let (mut outputs, mut grads) = (TensorList::default(), TensorList::default());
        let grad = pipeline.take(Payload::Gradient, part)?;
        let output = pipeline.with_live(part, |live| Ok(live.output.shallow_clone()))?;
        // False if nothing up to this stage is trained.
        if output.requires_grad() {
            outputs.push(&output);
            grads.push(&grad);
        }
        if pipeline.stage.layout.tied && pipeline.stage.begins_model(part) {
            let grad = pipeline.take(Payload::Tied, part)?;
            if let Some(param) = self.tied_param().filter(Tensor::requires_grad) {
                outputs.push(&param);
                grads.push(&grad);
            }
        }
        if outputs.is_empty() { Ok(()) } else { Ok(autograd::backward_from_all(&outputs, &grads)?) }
    }

    /// The output of a batch in an evaluation, on the last stage; the other stages send theirs to the next one.
    ///
    /// # Errors
    /// Another rank failed or timed out.
    pub fn infer_staged(&self, input: &Tensor) -> Result<Option<Tensor>> {
        let pipeline = self.connected()?;
        let (stage, rows) = (&pipeline.stage, input.size().first().copied().unwrap_or(0));
        let mut x = input.shallow_clone();
        for (chunk, units) in (0..stage.layout.chunks).zip(&stage.units) {
            let part = MicroPart { micro: 0, chunk };
            let mut traffic = pipeline.traffic.borrow_mut();
            if let Some((peer, _)) = stage.layout.before(stage.number, chunk) {
                let message = Message { payload: Payload::Activation, part, peer };
                traffic.channel.expect([pipeline.expected(message, rows, None)])?;
                x = traffic.channel.recv(message)?;
            }
            x = self.pass_units(units.clone(), &x, Mode::Eval)?;
            if let Some((peer, next)) = stage.layout.after(stage.number, chunk) {
                let there = MicroPart { chunk: next, ..part };
                let message = Message { payload: Payload::Activation, part: there, peer };
                traffic.channel.send(message, part, &x)?;
            }
        }
        Ok(stage.is_last().then_some(x))
    }

    /// Starts to sum the gradients of a chunk over the ranks that have the same stage, after the chunk's last backward pass.
    ///
    /// # Errors
    /// Another rank failed or timed out, or a parameter has no gradient.
    pub fn start_grad_sum(&self, chunk: u32) -> Result<()> {
        let (Some(pipeline), Some(parallel)) = (&self.pipeline, &self.parallel) else {
            return Ok(());
        };
        if parallel.group().world() == 1 {
            return Ok(());
        }
        let mut traffic = pipeline.traffic.borrow_mut();
        let (stage, info) = (&pipeline.stage, self.model().info());
        let sums = traffic.sums.take().map_or_else(
            || {
                let params = |chunk| &self.params()[stage.own_params(info, chunk)];
                (0..stage.layout.chunks)
                    .map(|it| GradSum::new(params(it), parallel.cap()))
                    .collect()
            },
            Ok::<Vec<_>, EngineError>,
        )?;
        traffic.sums.insert(sums)[chunk as usize].start(parallel.group())
    }

    /// Waits for the sums of all chunks and for all sends.
    ///
    /// # Errors
    /// Another rank failed or timed out.
    pub fn finish_stage(&self) -> Result<()> {
        let (Some(pipeline), Some(parallel)) = (&self.pipeline, &self.parallel) else {
            return Ok(());
        };
        let mut traffic = pipeline.traffic.borrow_mut();
        traffic.channel.finish()?;
        let mut sums = traffic.sums.iter_mut().flatten();
        parallel.group().during("all_reduce", || sums.try_for_each(GradSum::finish))
    }

    /// Must be called when the set of trained parameters changes.
    pub(super) fn reset_grad_sums(&self) {
        self.pipeline.iter().for_each(|it| it.traffic.borrow_mut().sums = None);
    }
}

/// The sender's part, given the sender's (stage, chunk) and the receiver's part.
fn own_part(beside: Option<(u32, u32)>, receiver: MicroPart) -> Result<MicroPart> {
    let (_, chunk) = beside.ok_or(EngineError::NoStage)?;
    Ok(MicroPart { chunk, ..receiver })
}

/// The names of the parameters of all stages, in the order of the whole model.
fn all_names(group: &Group, numbers: &[usize], params: &[NamedTensor]) -> Result<Vec<String>> {
    let own =
        numbers.iter().zip(params).map(|(number, param)| format!("{number} {}\n", param.name));
    let all = group.all_gather_bytes(own.collect::<String>().as_bytes())?;
    let texts = all.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let mut names: Vec<(usize, String)> = Vec::new();
    for text in texts {
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        names.extend(lines.map(|(number, name)| (number.parse().unwrap_or(0), name.to_owned())));
    }
    names.sort();
    Ok(names.into_iter().map(|(_, name)| name).collect())
}
