//! What a stage does in an iteration, step by step.

use std::fmt;

/// One micro-batch in one chunk of the stage that works on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MicroPart {
    /// The micro-batch, from 0.
    pub micro: u32,
    /// Which of the stage's chunks of layers, from 0.
    pub chunk: u32,
}

/// What one stage sends to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Payload {
    /// The output of a chunk, which is the input of the next one.
    Activation,
    /// The gradient with respect to an activation.
    Gradient,
    /// The last chunk's share of the gradient of a parameter that the first chunk owns.
    Tied,
}

impl Payload {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Activation, Self::Gradient, Self::Tied];
}

/// A tensor that is sent between two stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Message {
    /// What it is.
    pub payload: Payload,
    /// What the receiver does with it.
    pub part: MicroPart,
    /// The stage at the other end.
    pub peer: u32,
}

/// One step of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The forward pass of a part. Its activations live until its backward pass.
    Forward(MicroPart),
    /// The backward pass of a part.
    Backward(MicroPart),
    /// Starts a send, which does not wait for its receiver.
    Send(Message),
    /// Waits for what a stage sends.
    Recv(Message),
    /// Ends the micro-batches: what all ranks need to know about them is summed.
    Reduce,
}

impl fmt::Display for MicroPart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { micro, chunk } = self;
        write!(out, "micro-batch {micro}, chunk {chunk}")
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Activation => "activation",
            Self::Gradient => "gradient",
            Self::Tied => "tied gradient",
        })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forward(part) => write!(out, "forward of {part}"),
            Self::Backward(part) => write!(out, "backward of {part}"),
            Self::Send(Message { payload, part, peer }) => {
                write!(out, "send of the {payload} of {part} to stage {peer}")
            }
            Self::Recv(Message { payload, part, peer }) => {
                write!(out, "receive of the {payload} of {part} from stage {peer}")
            }
            Self::Reduce => out.write_str("reduce"),
        }
    }
}
