//! The part of a metric that is the same for all: what was gathered is forgotten, saved and merged as one.

/// The methods of `Metric` that concern nothing but what was gathered, in the field named (`counts`, or `ranked.kept`). Its type has `merge` and
/// `save`, and begins as its default.
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
