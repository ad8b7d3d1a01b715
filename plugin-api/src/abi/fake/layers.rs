//! Layer outputs of the fake host, which the test sets.

use super::{functions, table};
use crate::abi::{HrStr, HrTensor};
use crate::testing::pattern::Pattern;

table!(LayerTable { watch, name, output });

functions! {
    find name(world, _, index: usize) -> HrStr {
        Ok(world.layers.get(index).map(|(name, _)| HrStr::new(name)))
    }
    find output(world, _, index: usize) -> HrTensor {
        // There is one where the model has run in this iteration.
        let has_run = world.in_slot(crate::abi::SLOT_OUTPUT).is_some();
        let layer = world.layers.get(index).filter(|_| has_run).map(|(_, output)| output.clone());
        Ok(layer.map(|output| world.give(output)))
    }
    list watch(world, _, pattern: String) -> usize {
        let fitting = Pattern::parse(&pattern)?;
        let names = world.layers.iter().enumerate();
        let found: Vec<_> =
            names.filter(|(_, (name, _))| fitting.matches(name)).map(|(index, _)| index).collect();
        crate::ensure!(
            !found.is_empty(),
            "no layer matches `{pattern}`: give the model one with FakeTrainer::layer"
        );
        Ok(found)
    }
}
