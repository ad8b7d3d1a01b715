//! Gathers the parameters after each rank has stepped its share of them.

use tch::{Device, Kind, Tensor};

use super::error::Result;
use super::optimizer::Group;
use hookrack_torch::dist;
use hookrack_torch::shape::number;
use hookrack_torch::{TensorList, foreach};

/// All-gathers the stepped shares in rounds of a bounded size. All views are created once: a
/// gather copies this rank's shares into a buffer, exchanges it, and copies those of the others into the parameters.
#[derive(Debug)]
pub(super) struct ParamGather {
    rounds: Vec<Round>,
}

/// One exchange.
#[derive(Debug)]
struct Round {
    // Views of this rank's parameters, and of the send buffer.
    own: TensorList,
    own_places: TensorList,
    sent: Tensor,
    // Views of the other ranks' parameters, and of the receive buffer.
    others: TensorList,
    others_places: TensorList,
    received: Tensor,
}

/// A rank's memory in pieces, consumed round by round.
struct Stream<'a> {
    pieces: std::slice::Iter<'a, Tensor>,
    rest: Option<Tensor>,
}

impl Stream<'_> {
    /// The next views, of at most `limit` bytes in total.
    fn take(&mut self, limit: i64) -> Result<Vec<Tensor>> {
        let (mut taken, mut left) = (Vec::new(), limit);
        while left > 0 {
            let next = self.rest.take().or_else(|| self.pieces.next().map(Tensor::shallow_clone));
            let Some(piece) = next else { break };
            let length = number(piece.numel());
            if length > left {
                self.rest = Some(piece.f_narrow(0, left, length - left)?);
                taken.push(piece.f_narrow(0, 0, left)?);
                break;
            }
            left -= length;
            taken.push(piece);
        }
        Ok(taken)
    }
}

/// Consecutive views of a buffer, one for each tensor.
fn places(buffer: &Tensor, tensors: &[Tensor]) -> Result<TensorList> {
    let mut list = TensorList::with_capacity(tensors.len());
    let mut at = 0;
    for tensor in tensors {
        let length = number(tensor.numel());
        list.push(&buffer.f_narrow(0, at, length)?);
        at += length;
    }
    Ok(list)
}

impl ParamGather {
    /// A gather of the parameters of these groups that receives at most about `limit` bytes at once.
    pub(super) fn new(groups: &[Group], rank: usize, limit: usize, device: Device) -> Result<Self> {
        let world = groups.iter().map(|group| group.by_rank().len()).max().unwrap_or(0);
        let of_rank = |rank: usize| -> Vec<Tensor> {
            let pieces = groups.iter().flat_map(|group| &group.by_rank()[rank]);
            pieces.map(Tensor::shallow_clone).collect()
        };
        let all: Vec<Vec<Tensor>> = (0..world).map(of_rank).collect();
        let length = |pieces: &Vec<Tensor>| pieces.iter().map(Tensor::numel).sum::<usize>();
        let longest = all.iter().map(length).max().unwrap_or(0);
        let step = (limit / world.max(1)).max(1).min(longest.max(1));
        let count = longest.div_ceil(step);
        let options = (Kind::Uint8, device);
        let sent = Tensor::f_empty([number(step)], options)?;
        let received = Tensor::f_empty([number(step * world)], options)?;
        let mut streams: Vec<_> =
            all.iter().map(|pieces| Stream { pieces: pieces.iter(), rest: None }).collect();
        let mut round = |index: usize| -> Result<Round> {
            let length = number(step.min(longest - index * step));
            let (sent, received) =
                (sent.f_narrow(0, 0, length)?, received.f_narrow(0, 0, length * number(world))?);
            let mut round = Round {
                own: TensorList::default(),
                own_places: TensorList::default(),
                others: TensorList::default(),
                others_places: TensorList::default(),
                sent,
                received,
            };
            for (from, stream) in streams.iter_mut().enumerate() {
                let pieces = stream.take(length)?;
                if from == rank {
                    round.own_places = places(&round.sent, &pieces)?;
                    round.own.extend(pieces);
                } else {
                    let row = round.received.f_narrow(0, number(from) * length, length)?;
                    round.others_places.extend(places(&row, &pieces)?.iter());
                    round.others.extend(pieces);
                }
            }
            Ok(round)
        };
        Ok(Self { rounds: (0..count).map(&mut round).collect::<Result<_>>()? })
    }

    /// Gives every rank all parameters.
    ///
    /// # Errors
    /// Another rank has failed.
    pub(super) fn run(&self, group: &dist::Group) -> Result<()> {
        for Round { own, own_places, sent, others, others_places, received } in &self.rounds {
            if !own.is_empty() {
                foreach::copy_(own_places, own)?;
            }
            group.all_gather_into(received, sent)?;
            if !others.is_empty() {
                foreach::copy_(others, others_places)?;
            }
        }
        Ok(())
    }
}
