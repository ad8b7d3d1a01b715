//! The parts of a group's parameters that a process steps: all of them, or its share of each.

use tch::Tensor;

use super::partition::{Partition, TensorSize};
use crate::error::Result;
use crate::named_tensor::NamedTensor;
use crate::tensor_shard::{FlatRange, TensorShard};
use hookrack_torch::TensorList;
use hookrack_torch::autograd::{self, GradMode};
use hookrack_torch::shape::number;

/// The pieces that this process steps. Those that are part of a parameter share its memory.
#[derive(Debug)]
pub(super) struct OwnedShards {
    cut: Partition,
    pieces: Vec<TensorShard>,
    list: TensorList,
    // For each piece that is a part of a parameter: the parameter, the piece, and where it begins. Before a step the piece gets its
    // part of the gradient.
    wholes: TensorList,
    parts: TensorList,
    starts: Vec<i64>,
    // The memory that each rank steps, as bytes; empty if one process has everything.
    by_rank: Vec<Vec<Tensor>>,
}

impl OwnedShards {
    /// No parameters yet.
    pub(super) fn new(cut: Partition) -> Self {
        let ranks = if cut.rank.world > 1 { cut.rank.world } else { 0 };
        let by_rank = (0..ranks).map(|_| Vec::new()).collect();
        let (wholes, parts) = (TensorList::default(), TensorList::default());
        let (pieces, list) = (Vec::new(), TensorList::default());
        Self { cut, pieces, list, wholes, parts, starts: Vec::new(), by_rank }
    }

    /// Divides further parameters among the ranks; returns this rank's pieces of them.
    pub(super) fn add_params(&mut self, params: &[NamedTensor]) -> Result<&[TensorShard]> {
        let _no_grad = GradMode::set(false);
        let known = self.pieces.len();
        let extent = |param: &NamedTensor| TensorSize {
            size: param.tensor.numel(),
            is_flat: param.tensor.is_contiguous(),
        };
        let extents: Vec<_> = params.iter().map(extent).collect();
        for (rank, bytes) in self.by_rank.iter_mut().enumerate() {
            let shares = self.cut.shares(&extents, rank);
            for (param, range) in params.iter().zip(shares) {
                // An empty range has no memory to send.
                let range = range.filter(|range| !range.is_empty());
                bytes.extend(range.map(|range| as_bytes(&param.tensor, &range)).transpose()?);
            }
        }
        let shares = self.cut.shares(&extents, self.cut.rank.rank);
        for (param, range) in params.iter().zip(shares) {
            match range {
                Some(range) if range.len() == param.tensor.numel() => {
                    self.push(TensorShard::from(param.clone()));
                }
                Some(range) => self.push_part(param, range)?,
                None => {}
            }
        }
        Ok(&self.pieces[known..])
    }

    fn push(&mut self, piece: TensorShard) {
        self.list.push(&piece.tensor);
        self.pieces.push(piece);
    }

    fn push_part(&mut self, param: &NamedTensor, range: std::ops::Range<usize>) -> Result<()> {
        let tensor = elements(&param.tensor, &range)?;
        self.wholes.push(&param.tensor);
        self.parts.push(&tensor);
        self.starts.push(number(range.start));
        let part = Some(FlatRange { shape: param.tensor.size(), range });
        self.push(TensorShard { name: param.name.clone(), tensor, part });
        Ok(())
    }

    /// The pieces.
    pub(super) fn pieces(&self) -> &[TensorShard] {
        &self.pieces
    }

    /// Their tensors, for list operators.
    pub(super) fn list(&self) -> &TensorList {
        &self.list
    }

    /// The memory that each rank steps, as bytes; empty if this process has everything.
    pub(super) fn by_rank(&self) -> &[Vec<Tensor>] {
        &self.by_rank
    }

    /// Sets the gradient of each part to its range of the parameter's gradient, without a copy.
    pub(super) fn set_shard_grads(&self) -> Result<()> {
        if self.starts.is_empty() {
            return Ok(());
        }
        Ok(autograd::slice_grads(&self.wholes, &self.parts, &self.starts)?)
    }

    /// Removes the gradients of the parts, so that setting those of the parameters to none frees the memory.
    pub(super) fn clear_shard_grads(&self) -> Result<()> {
        Ok(autograd::clear_grads(&self.parts)?)
    }
}

/// A flat range of a tensor, sharing its memory.
fn elements(tensor: &Tensor, range: &std::ops::Range<usize>) -> Result<Tensor> {
    let flat = tensor.f_detach()?.f_view([-1])?;
    Ok(flat.f_narrow(0, number(range.start), number(range.len()))?)
}

/// The same as bytes. A tensor that is not contiguous is sent whole, in memory order.
fn as_bytes(tensor: &Tensor, range: &std::ops::Range<usize>) -> Result<Tensor> {
    let elements = if tensor.is_contiguous() {
        elements(tensor, range)?
    } else {
        tensor.f_detach()?.f_as_strided([number(tensor.numel())], [1], None)?
    };
    Ok(elements.f_view_dtype(tch::Kind::Uint8)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hookrack_plugin_api::Value;
    use tch::Kind;

    use super::super::{OPTIMIZERS, Optimizer, ParamSet};
    use super::*;
    use crate::data::Rank;
    use crate::registry::{Build as _, Choice};
    use crate::tensor_shard::InMemory;

    const WORLD: usize = 3;

    /// Tensors that are cut, too short to be cut, a scalar, an empty one, and one that is not contiguous.
    fn params() -> Vec<NamedTensor> {
        let shapes: [&[i64]; 6] = [&[37, 29], &[200], &[], &[5], &[0, 4], &[16, 9]];
        let param = |(index, shape): (usize, &&[i64])| {
            let count = shape.iter().product::<i64>();
            let values = Tensor::arange(count, (Kind::Float, tch::Device::Cpu));
            let values = (values * 0.37 + number(index)).sin().view(*shape);
            let values = if index == 5 { values.tr() } else { values };
            NamedTensor::new(format!("p{index}"), values.set_requires_grad(true))
        };
        shapes.iter().enumerate().map(param).collect()
    }

    fn build(name: &str, settings: &[(&str, Value)], set: &ParamSet) -> Box<dyn Optimizer> {
        Choice::new(name, settings).build(OPTIMIZERS, set).unwrap()
    }

    fn backward(params: &[NamedTensor], step: u32) {
        for param in params.iter().filter(|param| param.tensor.requires_grad()) {
            let loss = (&param.tensor - f64::from(step).cos()).square() * 0.5;
            autograd::backward(&loss.sum(Kind::Float)).unwrap();
        }
    }

    /// What the other ranks send after a step.
    fn exchange(ranks: &[(Vec<NamedTensor>, Box<dyn Optimizer>)]) {
        let _no_grad = GradMode::set(false);
        for (from, (_, sender)) in ranks.iter().enumerate() {
            for (_, receiver) in ranks {
                for (sent, received) in sender.groups().iter().zip(receiver.groups()) {
                    let pairs = sent.by_rank()[from].iter().zip(&received.by_rank()[from]);
                    pairs.for_each(|(sent, received)| received.shallow_clone().copy_(sent));
                }
            }
        }
    }

    type Bits = BTreeMap<(String, usize), (Vec<i64>, Vec<u32>)>;

    /// The numbers of a state by name and first element; ranges of one tensor that follow each other are one.
    fn joined(states: impl Iterator<Item = TensorShard>) -> Bits {
        let mut pieces: Vec<_> = states.collect();
        pieces.sort_by_key(|piece| (piece.name.clone(), piece.range().start));
        let mut joined = Bits::new();
        for piece in pieces {
            let numbers = Vec::<f32>::try_from(piece.tensor.detach().reshape([-1])).unwrap();
            let bits = numbers.into_iter().map(f32::to_bits);
            let entry =
                joined.entry((piece.name.clone(), 0)).or_insert((piece.shape(), Vec::new()));
            assert_eq!(entry.1.len(), piece.range().start, "{}", piece.name);
            entry.1.extend(bits);
        }
        joined
    }

    fn cases() -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
        let mut cases: Vec<_> = OPTIMIZERS.iter().map(|entry| (entry.name, Vec::new())).collect();
        cases.push(("SGD", vec![("momentum", 0.9.into()), ("weight_decay", 0.1.into())]));
        cases.push(("RMSprop", vec![("momentum", 0.9.into()), ("centered", true.into())]));
        cases.push(("AdamW", vec![("amsgrad", true.into())]));
        cases
    }

    #[test]
    fn ranks_that_step_their_shares_have_the_bits_of_one_process() {
        for (name, settings) in cases() {
            let whole_params = params();
            let frozen = |params: &[NamedTensor], is_frozen: bool| {
                let _ = params[1].tensor.set_requires_grad(!is_frozen);
            };
            frozen(&whole_params, true);
            let mut whole = build(name, &settings, &ParamSet::whole(&whole_params));
            let mut ranks: Vec<_> = (0..WORLD)
                .map(|rank| {
                    let params = params();
                    frozen(&params, true);
                    let set = ParamSet::whole(&params).sharded(Rank { rank, world: WORLD });
                    let optimizer = build(name, &settings, &set);
                    (params, optimizer)
                })
                .collect();
            for step in 0..6 {
                let all = ranks.iter_mut().map(|(params, optimizer)| (&*params, optimizer));
                for (params, optimizer) in all.chain([(&whole_params, &mut whole)]) {
                    if step == 3 {
                        frozen(params, false);
                        optimizer.admit().unwrap();
                    }
                    optimizer.zero_grad().unwrap();
                    backward(params, step);
                    optimizer.step().unwrap();
                }
                exchange(&ranks);
            }
            for (params, _) in &ranks {
                for (found, wanted) in params.iter().zip(&whole_params) {
                    assert_eq!(found.tensor, wanted.tensor, "{name}: {}", wanted.name);
                }
            }
            let sharded = joined(ranks.iter().flat_map(|(_, optimizer)| optimizer.state()));
            assert_eq!(sharded, joined(whole.state().into_iter()), "{name}");
            loads_into_shares(name, &settings, whole.as_ref());
        }
    }

    /// The state of one process, loaded by another number of ranks, is the same again.
    fn loads_into_shares(name: &str, settings: &[(&str, Value)], whole: &dyn Optimizer) {
        let saved = whole.state();
        let load = |rank| {
            let set = ParamSet::whole(&params()).sharded(Rank { rank, world: 2 });
            let mut optimizer = build(name, settings, &set);
            optimizer.load_state(&InMemory::pieces(&saved)).unwrap();
            optimizer.state()
        };
        let loaded = joined((0..2).flat_map(load));
        assert_eq!(loaded, joined(saved.into_iter()), "{name}");
    }

    #[test]
    fn a_rank_keeps_its_share_of_the_state() {
        let bytes = |set: &ParamSet| {
            let state = build("AdamW", &[], set).state();
            state.iter().map(|piece| piece.tensor.numel()).sum::<usize>()
        };
        let (params, all) = (params(), bytes(&ParamSet::whole(&params())));
        for rank in 0..WORLD {
            let own = bytes(&ParamSet::whole(&params).sharded(Rank { rank, world: WORLD }));
            assert!(own < all / WORLD + 4 * 64, "rank {rank}: {own} of {all}");
        }
    }
}
