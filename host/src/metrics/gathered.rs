//! The methods that all metrics share: resetting, saving and merging their state.

/// The methods of `Metric` about its state, which is the named field (`counts`, or `ranked.kept`). Its type must have `merge` and
/// `save`, and a default.
macro_rules! gathered {
    ($($field:ident).+) => {
        fn reset(&mut self) {
            self.$($field).+ = Default::default();
        }

        fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
            self.$($field).+.merge(other)
        }

        fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
            self.$($field).+.save(state)
        }
    };
}

pub(super) use gathered;
