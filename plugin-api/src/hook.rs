//! The trait that a hook implements: a method for each point of the loop.

use crate::error::Result;
use crate::level::Level;
use crate::point::with_points;
use crate::state::{StateReader, StateWriter};
use crate::trainer::Trainer;

macro_rules! define_hook {
    ($($(#[doc = $doc:literal])* $code:literal $variant:ident $method:ident: $pace:ident $($role:ident)? $(@ $next:ident)?,)*) => {
        /// A hook: code that the loop calls at points of a run. Implement the points you need; `#[hook]`
        /// subscribes to these only, so the others cost nothing.
        ///
        /// [`crate::point`] shows the loop with all points. They are called on the training thread, in the
        /// order of the hooks' levels, with gradient recording off. A point marked ROLE has exactly one hook,
        /// which does the work of that step, in training with gradient recording on: a hook that implements
        /// it replaces the built-in main hook there.
        ///
        /// An error fails the run, disables the hook or is only logged, depending on `on_error` of the config
        /// entry. A panic is caught and reported; the hook is not called again after it. A call through the
        /// ABI costs a few nanoseconds more than a virtual call; the host measures the time of each hook at
        /// each point.
        ///
        /// A method may also have the name of its point in LiBai, Orca or ColossalAI: `before_step`,
        /// `on_run_begin`, and all others of [`Point::ALIASES`](crate::Point::ALIASES).
        ///
        /// # The life of an instance
        /// There is one instance for each entry of the config, and on several ranks one on each that the hook
        /// runs on.
        ///
        /// - It is created from its settings, then `on_attach` and `before_run` are called. `hookrack check`
        ///   only attaches and detaches it: open files and connections in `before_run`, not in `on_attach`.
        /// - In a resume `load_state` follows, then `after_load_checkpoint`, then `before_train`, which is
        ///   called in every process. Points of an epoch in progress, such as `before_train_epoch`, are not
        ///   called again.
        /// - `on_detach` is the last point, however the run ends; then the instance is dropped. After a panic
        ///   it is only dropped.
        ///
        /// # Cost
        /// The iteration waits for every point, and [`iter_time`](crate::Trainer::iter_time) includes those
        /// up to the last role. Work that is not needed in every iteration belongs in a hook with `every`. Waiting for the
        /// device ([`Tensor::item`](crate::tensor::Tensor::item), `to_vec`, a copy to the CPU) is the usual
        /// reason for a slow hook; `run.json` has the time of each hook.
        pub trait Hook {
            $(
                $(#[doc = $doc])*
                #[expect(unused_variables, reason = "the default does nothing")]
                fn $method(&mut self, t: &mut Trainer) -> Result<()> { Ok(()) }
            )*

            /// Saves what a resumed run needs, under this instance's name. Called whenever a checkpoint is
            /// taken, on the training thread. Fields with `#[param(state)]` are saved without it.
            ///
            /// It runs after `before_save_checkpoint`, on rank 0, and in a pipeline on every rank. A hook
            /// that was disabled or has panicked is not asked. Only read: the state may also be asked for
            /// without a checkpoint.
            ///
            /// # Errors
            /// Under `on_error = "abort"` no checkpoint is written and the run ends; otherwise the checkpoint
            /// is written without this state.
            #[expect(unused_variables, reason = "the default saves nothing")]
            fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> { Ok(()) }

            /// Restores what [`save_state`](Self::save_state) saved: after the fields with `#[param(state)]`,
            /// after `on_attach` and `before_run`, and before `after_load_checkpoint`. Not called if the
            /// checkpoint has no state for this instance.
            ///
            /// Called on every rank that has the hook, each with the same state. The model has its restored
            /// weights; the iteration and the shared values are not restored yet.
            ///
            /// # Errors
            /// The resume fails, unless `--force` is given: then the hook starts without its state.
            #[expect(unused_variables, reason = "the default loads nothing")]
            fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> { Ok(()) }
        }

        /// Calls the method of a point; does nothing for a code of a newer host.
        pub(crate) fn dispatch<T: Hook>(hook: &mut T, code: u32, t: &mut Trainer) -> Result<()> {
            match code {
                $($code => hook.$method(t),)*
                _ => Ok(()),
            }
        }
    };
}
with_points!(define_hook);

/// What `#[hook]` generates for a hook; it becomes part of the manifest.
pub trait HookInfo {
    /// The points that are implemented.
    const POINTS: &'static [&'static str];
    /// The default level.
    const LEVEL: Level;
    /// The default cadence: `10it`, `2ep`, or empty for always. See [`Every`](crate::every::Every).
    const EVERY: &'static str = "";
    /// The default ranks: `all`, `main`, `last_stage`, or empty for all.
    const RANKS: &'static str = "";
    /// Other names that a config may use.
    const ALIASES: &'static str = "";
    /// What it changes: any of `params`, `grads`, `lr`, `momentum`, `input`, `label`, `output`, `loss`; empty
    /// for an observer. It decides what the host [allows](crate::Trainer#what-a-hook-may-change), and the
    /// default error policy.
    const MUTATES: &'static str;
    /// The values it reads, such as `metrics`.
    const READS: &'static str;
    /// The values it writes, such as `grad_norm`, and the scalars it logs; `nothing` for none, empty if that
    /// is not known.
    const WRITES: &'static str;
    /// The default error policy: `abort`, `disable`, `warn`, or empty for the host's.
    const ON_ERROR: &'static str;
    /// Whether it saves state.
    const HAS_STATE: bool;
    /// Saves the fields with `#[param(state)]`.
    #[expect(unused_variables, reason = "the default saves nothing")]
    fn save_fields(&self, state: &mut StateWriter<'_>) -> Result<()> {
        Ok(())
    }
    /// Restores them.
    #[expect(unused_variables, reason = "the default loads nothing")]
    fn load_fields(&mut self, state: &StateReader<'_>) -> Result<()> {
        Ok(())
    }
    /// What it does, in one line.
    fn doc() -> &'static str;
    /// The operators of libtorch that it calls; a missing one is reported before the run.
    fn ops() -> Vec<&'static str> {
        Vec::new()
    }
    /// Its parameters; `None` if they are not described. Without a description the host cannot validate a
    /// config in advance.
    fn params() -> Option<Vec<crate::describe::Param>>;
}

#[cfg(test)]
mod tests {
    use super::HookInfo as _;
    use crate::prelude::*;

    struct Elsewhere;

    #[hook]
    impl Hook for Elsewhere {
        fn before_step(&mut self, _t: &mut Trainer) -> Result<()> {
            Ok(())
        }
        fn after_step(&mut self, _t: &mut Trainer) -> Result<()> {
            Ok(())
        }
        fn on_run_begin(&mut self, _t: &mut Trainer) -> Result<()> {
            Ok(())
        }
        fn on_run_end(&mut self, _t: &mut Trainer) -> Result<()> {
            Ok(())
        }
        fn on_epoch_begin(&mut self, _t: &mut Trainer) -> Result<()> {
            Ok(())
        }
        fn on_epoch_end(&mut self, _t: &mut Trainer) -> Result<()> {
            Ok(())
        }
        fn on_iter_begin(&mut self, _t: &mut Trainer) -> Result<()> {
            Ok(())
        }
        fn on_iter_end(&mut self, _t: &mut Trainer) -> Result<()> {
            Ok(())
        }
        fn after_hook_is_attached(&mut self, _t: &mut Trainer) -> Result<()> {
            Ok(())
        }
    }

    /// The macro and the manifests know the same names, in the same order.
    #[test]
    fn a_method_may_have_the_name_of_its_point_elsewhere() {
        let points: Vec<_> = Point::ALIASES.iter().map(|(_, point)| point.name()).collect();
        assert_eq!(Elsewhere::POINTS, points);
    }
}
