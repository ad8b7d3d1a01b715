//! `Stage`: the units of a model that one process of a pipeline has.

use std::ops::Range;

use super::model::{BuiltUnits, ModelInfo};
use super::schedule::{Layout, MicroPart};

/// One stage of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Its number, from 0.
    pub number: u32,
    /// The layout of the pipeline, with the micro-batches of one iteration.
    pub layout: Layout,
    /// The units of each of its chunks, in order.
    pub units: Vec<Range<usize>>,
}

impl Stage {
    /// A stage of a pipeline. `ranges` are the units of all chunks, in the order of the model.
    pub fn new(number: u32, layout: Layout, ranges: &[Range<usize>]) -> Self {
        let units = ranges.iter().skip(number as usize).step_by(layout.stages as usize);
        Self { number, layout, units: units.cloned().collect() }
    }

    /// The units that this process creates.
    pub(super) fn made(&self) -> BuiltUnits {
        BuiltUnits::Some(self.units.clone())
    }

    /// Whether it is the last stage, which has output and loss.
    pub fn is_last(&self) -> bool {
        self.number + 1 == self.layout.stages
    }

    /// Whether a part of this stage is the first part of the model.
    pub fn begins_model(&self, part: MicroPart) -> bool {
        self.layout.before(self.number, part.chunk).is_none()
    }

    /// Whether a part of this stage is the last part of the model.
    pub fn ends_model(&self, part: MicroPart) -> bool {
        self.layout.after(self.number, part.chunk).is_none()
    }

    /// The index of each of its parameters in the whole model.
    pub fn param_numbers(&self, info: &ModelInfo) -> Vec<usize> {
        let mut numbers = Vec::new();
        for units in &self.units {
            numbers.extend(tensors_of(info, units.clone()));
        }
        numbers
    }

    /// The range of a chunk's parameters among those of this stage.
    pub(super) fn own_params(&self, info: &ModelInfo, chunk: u32) -> Range<usize> {
        let count = |units: &Range<usize>| tensors_of(info, units.clone()).len();
        let start = self.units[..chunk as usize].iter().map(count).sum();
        start..start + count(&self.units[chunk as usize])
    }
}

/// The indices of the parameters of consecutive units.
fn tensors_of(info: &ModelInfo, units: Range<usize>) -> Range<usize> {
    let count = |units: Range<usize>| info.units[units].iter().map(|unit| unit.tensors).sum();
    let start: usize = count(0..units.start);
    start..start + count(units)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Unit;

    #[test]
    fn chunks_are_dealt_to_the_stages_in_turn() {
        let layout = Layout { stages: 2, micros: 4, chunks: 2, tied: false };
        let ranges = [0..1, 1..3, 3..4, 4..6];
        let unit = |tensors| Unit { name: String::new(), params: 0, tensors, buffers: 0 };
        let info = ModelInfo { units: [2, 1, 2, 3, 0, 4].map(unit).into(), ..ModelInfo::default() };
        let stage = Stage::new(1, layout, &ranges);
        assert_eq!(stage.units, [1..3, 4..6]);
        assert_eq!(stage.param_numbers(&info), [2, 3, 4, 8, 9, 10, 11]);
        assert_eq!([0, 1].map(|chunk| stage.own_params(&info, chunk)), [0..3, 3..7]);
        let part = |chunk| MicroPart { micro: 0, chunk };
        assert!(stage.is_last() && stage.ends_model(part(1)) && !stage.ends_model(part(0)));
        let first = Stage::new(0, layout, &ranges);
        assert_eq!(first.param_numbers(&info), [0, 1, 5, 6, 7]);
        assert!(first.begins_model(part(0)) && !first.begins_model(part(1)) && !first.is_last());
    }
}
