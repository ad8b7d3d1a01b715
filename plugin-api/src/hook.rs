//! The trait that a hook implements: a method for each point of the loop.

use crate::error::Result;
use crate::level::Level;
use crate::point::with_points;
use crate::state::{StateReader, StateWriter};
use crate::trainer::Trainer;

macro_rules! define_hook {
    ($($(#[doc = $doc:literal])* $code:literal $variant:ident $method:ident: $pace:ident $($role:ident)? $(@ $next:ident)?,)*) => {
        /// Something that is called at points of a run. Implement the points you need; `#[hook]` finds them, and
        /// the others cost nothing.
        ///
        /// [`crate::point`] draws the loop with every point in its place. Points are called on the training
        /// thread, in the order of the levels, without gradients being recorded (roles: with). A point that
        /// begins with `on_` and is marked ROLE has exactly one hook: the one that is configured takes it over
        /// from the built-in main hook.
        ///
        /// A method may have the name that its point has in LiBai, Orca or ColossalAI: `before_step`, `on_run_begin`,
        /// all of [`Point::ALIASES`](crate::Point::ALIASES).
        pub trait Hook {
            $(
                $(#[doc = $doc])*
                #[expect(unused_variables, reason = "the default does nothing")]
                fn $method(&mut self, t: &mut Trainer) -> Result<()> { Ok(()) }
            )*

            /// Puts what a resumed run needs into the checkpoint, under this instance's name; fields with
            /// `#[param(state)]` are in it already.
            #[expect(unused_variables, reason = "the default saves nothing")]
            fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> { Ok(()) }

            /// Takes it back, after those fields, after `on_attach` and before `after_load_checkpoint`.
            #[expect(unused_variables, reason = "the default loads nothing")]
            fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> { Ok(()) }
        }

        /// Calls the method of a point. A code from a newer host is answered with nothing.
        pub(crate) fn dispatch<T: Hook>(hook: &mut T, code: u32, t: &mut Trainer) -> Result<()> {
            match code {
                $($code => hook.$method(t),)*
                _ => Ok(()),
            }
        }
    };
}
with_points!(define_hook);

/// What `#[hook]` finds out about a hook; it goes into the manifest.
pub trait HookInfo {
    /// The points that are implemented.
    const POINTS: &'static [&'static str];
    /// Where it stands when the config does not say.
    const LEVEL: Level;
    /// How often it runs when the config does not say: `10it`, `2ep`, or nothing for always.
    const EVERY: &'static str = "";
    /// The ranks that it runs on when the config does not say: `all` or `main`; nothing for all.
    const RANKS: &'static str = "";
    /// Other names by which a config may name it.
    const ALIASES: &'static str = "";
    /// What it changes: words out of `params`, `grads`, `lr`, `input`, `label`, `output`, `loss`; empty for an observer.
    const MUTATES: &'static str;
    /// The values it reads, such as `metrics`.
    const READS: &'static str;
    /// The values it writes, such as `grad_norm`.
    const WRITES: &'static str;
    /// What the host does when it fails and the config does not say: `abort`, `disable`, `warn` or nothing.
    const ON_ERROR: &'static str;
    /// Whether it saves state.
    const HAS_STATE: bool;
    /// Saves the fields with `#[param(state)]`.
    #[expect(unused_variables, reason = "the default saves nothing")]
    fn save_fields(&self, state: &mut StateWriter<'_>) -> Result<()> {
        Ok(())
    }
    /// Takes them back.
    #[expect(unused_variables, reason = "the default loads nothing")]
    fn load_fields(&mut self, state: &StateReader<'_>) -> Result<()> {
        Ok(())
    }
    /// What it does, in a line.
    fn doc() -> &'static str;
    /// The names of the operators of libtorch that it calls: what is not there is found before a run.
    fn ops() -> Vec<&'static str> {
        Vec::new()
    }
    /// Its parameters, where they are known from outside.
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
