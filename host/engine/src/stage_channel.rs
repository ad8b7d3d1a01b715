//! Messages between the stages of a pipeline: receives are posted in advance, tensors are kept alive until they are sent.

use std::collections::VecDeque;

use tch::{Device, Kind, Tensor};

use super::error::{EngineError, Result};
use super::schedule::{Message, MicroPart, Payload};
use hookrack_torch::dist::{Group, Pending};
use hookrack_torch::shape::number;

/// How many receives are posted in advance: a message is transferred only after its receive is posted.
const AHEAD: usize = 2;

/// The shape and type of one sample of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sample {
    /// Without the first dimension, which is that of the samples.
    pub(super) shape: Vec<i64>,
    pub(super) kind: Kind,
}

/// A message that a stage will receive.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) message: Message,
    pub(super) shape: Vec<i64>,
    pub(super) kind: Kind,
}

/// The connection of a stage to the others of its pipeline.
#[derive(Debug)]
pub(super) struct StageChannel {
    group: Group,
    device: Device,
    expected: VecDeque<Expected>,
    posted: VecDeque<(Message, Tensor, Pending)>,
    // With the part of this stage that each belongs to.
    sent: Vec<(Payload, MicroPart, Pending)>,
}

impl StageChannel {
    pub(super) fn new(group: Group, device: Device) -> Self {
        let (expected, posted) = (VecDeque::new(), VecDeque::new());
        Self { group, device, expected, posted, sent: Vec::new() }
    }

    /// The process group of the stages.
    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    /// Announces the messages to receive next, in order.
    pub(super) fn expect(&mut self, messages: impl IntoIterator<Item = Expected>) -> Result<()> {
        self.expected.extend(messages);
        self.post()
    }

    fn post(&mut self) -> Result<()> {
        while self.posted.len() < AHEAD {
            let Some(Expected { message, shape, kind }) = self.expected.pop_front() else { break };
            // Headers (`recv_sample`) are read on the CPU.
            let device = if kind == Kind::Int64 { Device::Cpu } else { self.device };
            let tensor = Tensor::f_empty(shape, (kind, device))?;
            let pending = self.group.recv_start(&tensor, message.peer as usize, tag(&message))?;
            self.posted.push_back((message, tensor, pending));
        }
        Ok(())
    }

    /// Waits for the next message, which must be this one.
    pub(super) fn recv(&mut self, message: Message) -> Result<Tensor> {
        let next = self.posted.pop_front().filter(|(posted, ..)| *posted == message);
        let (_, tensor, pending) = next.ok_or(EngineError::NoStage)?;
        // Posted before waiting, so that the next message can arrive meanwhile.
        self.post()?;
        self.group.during("recv", || pending.wait())?;
        if message.payload == Payload::Gradient {
            self.release(message.part)?;
        }
        Ok(tensor)
    }

    /// Starts to send a tensor of part `own` of this stage. It must not be modified before [`finish`](Self::finish).
    pub(super) fn send(&mut self, message: Message, own: MicroPart, tensor: &Tensor) -> Result<()> {
        let tensor = tensor.f_detach()?.f_contiguous()?;
        let pending = self.group.send_start(&tensor, message.peer as usize, tag(&message))?;
        self.sent.push((message.payload, own, pending));
        Ok(())
    }

    /// Releases the sent activation of a part whose gradient has arrived: it must have been received.
    fn release(&mut self, part: MicroPart) -> Result<()> {
        let is_answered = |(payload, own, _): &(Payload, MicroPart, Pending)| {
            *payload == Payload::Activation && *own == part
        };
        let found = self.sent.iter().position(is_answered);
        found.map_or(Ok(()), |index| Ok(self.sent.swap_remove(index).2.wait()?))
    }

    /// Waits until all messages are sent.
    pub(super) fn finish(&mut self) -> Result<()> {
        let Self { group, sent, .. } = self;
        group.during("send", || sent.drain(..).try_for_each(|(.., pending)| pending.wait()))?;
        Ok(())
    }

    /// Sends the shape and type of a sample.
    pub(super) fn send_sample(&mut self, message: Message, sample: &Sample) -> Result<()> {
        let kind = KINDS.iter().position(|known| *known == sample.kind).map(number);
        let (Some(kind), true) = (kind, sample.shape.len() + 2 <= HEADER) else {
            return Err(EngineError::NotSendable {
                kind: sample.kind,
                sides: sample.shape.len() + 1,
            });
        };
        let mut header = vec![kind, number(sample.shape.len())];
        header.extend(&sample.shape);
        header.resize(HEADER, 0);
        self.send(message, message.part, &Tensor::f_from_slice(&header)?)
    }

    /// Waits for the shape and type of a sample.
    pub(super) fn recv_sample(&mut self, message: Message) -> Result<Sample> {
        self.expect([Expected { message, shape: vec![number(HEADER)], kind: Kind::Int64 }])?;
        let header: Vec<i64> = Vec::try_from(self.recv(message)?)?;
        let at = |index: usize| usize::try_from(header[index]).unwrap_or(0);
        let kind = KINDS.get(at(0)).copied().unwrap_or(Kind::Float);
        Ok(Sample { kind, shape: header[2..(2 + at(1)).min(HEADER)].to_vec() })
    }
}

/// Length of the header that describes a sample: type, number of dimensions, and the size of each.
const HEADER: usize = 16;

/// The types that can be sent; their index is the type's code in a header.
const KINDS: [Kind; 4] = [Kind::Float, Kind::Half, Kind::BFloat16, Kind::Double];

/// One tag per payload: messages with the same tag arrive in the order of their sends, which the schedule's table guarantees per payload.
fn tag(message: &Message) -> u8 {
    match message.payload {
        Payload::Activation => 0,
        Payload::Gradient => 1,
        Payload::Tied => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::two_ranks::on_two_ranks;

    fn message(payload: Payload, micro: u32, peer: u32) -> Message {
        Message { payload, part: MicroPart { micro, chunk: 0 }, peer }
    }

    fn numbers(tensor: &Tensor) -> Vec<f32> {
        Vec::try_from(tensor).unwrap()
    }

    #[test]
    fn messages_arrive_in_order_and_a_gradient_releases_the_activation_it_answers() {
        on_two_ranks(|group| {
            let rank = group.rank();
            let mut channel = StageChannel::new(group, Device::Cpu);
            let expected = |message| Expected { message, shape: vec![2], kind: Kind::Float };
            let values = |micro: u16| [f32::from(micro), -1.0];
            if rank == 0 {
                for micro in 0..4_u16 {
                    let sent = message(Payload::Activation, micro.into(), 1);
                    channel.send(sent, sent.part, &Tensor::from_slice(&values(micro))).unwrap();
                }
                channel.expect([expected(message(Payload::Gradient, 2, 1))]).unwrap();
                let grad = channel.recv(message(Payload::Gradient, 2, 1)).unwrap();
                assert_eq!(numbers(&grad), values(9));
                let left: Vec<_> = channel.sent.iter().map(|(_, part, _)| part.micro).collect();
                assert_eq!(left.len(), 3);
                assert!(!left.contains(&2), "{left:?}");
            } else {
                let all = (0..4).map(|micro| expected(message(Payload::Activation, micro, 0)));
                channel.expect(all).unwrap();
                for micro in 0..4_u16 {
                    let found =
                        channel.recv(message(Payload::Activation, micro.into(), 0)).unwrap();
                    assert_eq!(numbers(&found), values(micro));
                }
                let sent = message(Payload::Gradient, 2, 0);
                channel.send(sent, sent.part, &Tensor::from_slice(&values(9))).unwrap();
            }
            channel.finish().unwrap();
            assert!(channel.sent.is_empty());
        });
    }

    #[test]
    fn a_sample_is_described_by_its_shape_and_type() {
        on_two_ranks(|group| {
            let rank = group.rank();
            let mut channel = StageChannel::new(group, Device::Cpu);
            let samples = [
                Sample { shape: vec![3, 5], kind: Kind::Half },
                Sample { shape: Vec::new(), kind: Kind::Double },
            ];
            for (micro, sample) in (0..).zip(&samples) {
                if rank == 0 {
                    channel.send_sample(message(Payload::Activation, micro, 1), sample).unwrap();
                } else {
                    let found =
                        channel.recv_sample(message(Payload::Activation, micro, 0)).unwrap();
                    assert_eq!(found, *sample);
                }
            }
            channel.finish().unwrap();
        });
    }

    #[test]
    fn what_cannot_be_sent_or_was_not_announced_is_an_error() {
        on_two_ranks(|group| {
            let peer = u32::from(group.rank() == 0);
            let mut channel = StageChannel::new(group, Device::Cpu);
            let next = message(Payload::Activation, 0, peer);
            assert!(matches!(channel.recv(next), Err(EngineError::NoStage)));
            for (shape, kind) in [(vec![2], Kind::Int64), (vec![1; 15], Kind::Float)] {
                let refused = channel.send_sample(next, &Sample { shape, kind });
                assert!(matches!(refused, Err(EngineError::NotSendable { .. })), "{kind:?}");
            }
            channel.group.barrier().unwrap();
        });
    }
}
