//! What the host refuses to hooks and metrics, in the host's words: a test of a plugin fails where a run would.

use crate::abi::fake::HookInstance;
use crate::error::{Error, Result};
use crate::point::Point;
use std::rc::Rc;

/// Parts of a run that a hook can change: a set of the words of `mutates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts(u16);

/// Each word of `mutates`, with its description in messages.
const WORDS: [(Parts, &str, &str); 8] = [
    (Parts::PARAMS, "params", "a parameter or buffer of the model"),
    (Parts::GRADS, "grads", "a gradient"),
    (Parts::INPUT, "input", "the input of the batch"),
    (Parts::LABEL, "label", "the label of the batch"),
    (Parts::OUTPUT, "output", "the output of the model"),
    (Parts::LOSS, "loss", "the loss"),
    (Parts::LR, "lr", "the learning rate"),
    (Parts::MOMENTUM, "momentum", "the momentum"),
];

impl Parts {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const PARAMS: Self = Self(1);
    pub(crate) const GRADS: Self = Self(1 << 1);
    pub(crate) const INPUT: Self = Self(1 << 2);
    pub(crate) const LABEL: Self = Self(1 << 3);
    pub(crate) const OUTPUT: Self = Self(1 << 4);
    pub(crate) const LOSS: Self = Self(1 << 5);
    pub(crate) const LR: Self = Self(1 << 6);
    pub(crate) const MOMENTUM: Self = Self(1 << 7);
    /// The output of a layer, which no word of `mutates` covers.
    pub(crate) const LAYER: Self = Self(1 << 8);
    const ALL: Self = Self(u16::MAX);

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn declared(words: &str) -> Self {
        let words: Vec<_> = words.split([',', ' ']).collect();
        let known = WORDS.iter().filter(|(_, word, _)| words.contains(word));
        known.fold(Self::NONE, |all, (part, ..)| all.and(*part))
    }

    /// What a hook may change while it has a role.
    fn of_role(point: Point) -> Self {
        match point {
            Point::OnOptimizerStep => Self::PARAMS.and(Self::GRADS),
            Point::OnIterBackward => Self::GRADS,
            Point::OnLrAdjust => Self::LR.and(Self::MOMENTUM),
            point if point.is_role() => Self::OUTPUT.and(Self::LOSS),
            _ => Self::NONE,
        }
    }

    fn rows(self) -> impl Iterator<Item = &'static (Self, &'static str, &'static str)> {
        WORDS.iter().filter(move |(part, ..)| self.meets(*part))
    }

    fn words(self, separator: &str) -> String {
        let words: Vec<_> = self.rows().map(|(_, word, _)| format!("\"{word}\"")).collect();
        words.join(separator)
    }

    fn things(self) -> String {
        let layer = self.meets(Self::LAYER).then_some("the output of a layer");
        let things: Vec<_> = self.rows().map(|(.., thing)| *thing).chain(layer).collect();
        things.join(" and ")
    }
}

/// What one hook or metric may change.
pub(crate) struct Rules {
    mutates: Parts,
    is_metric: bool,
}

impl Rules {
    /// A hook with these words in its `mutates`.
    pub(crate) fn of_hook(mutates: &str) -> Self {
        Self { mutates: Parts::declared(mutates), is_metric: false }
    }

    pub(crate) const METRIC: Self = Self { mutates: Parts::NONE, is_metric: true };

    /// The test itself.
    pub(crate) const TEST: Self = Self { mutates: Parts::ALL, is_metric: false };

    /// Refuses to change parts of the run of which the caller declares none. A tensor of the fake trainer may be two of them: without a
    /// model, the output is the input.
    pub(crate) fn check_declared(
        &self,
        point: Option<Point>,
        part: Parts,
        by: impl FnOnce() -> String,
    ) -> Result<()> {
        let allowed = self.mutates.and(point.map_or(Parts::NONE, Parts::of_role));
        if part == Parts::NONE || part.meets(allowed) {
            return Ok(());
        }
        let (by, things, words) = (by(), part.things(), part.words(", "));
        Err(Error::new(if self.is_metric {
            format!(
                "{by} would change {things}: a metric must not change the run; copy the tensor first"
            )
        } else if part.meets(Parts::LAYER) {
            format!("{by} would change {things}, which is read-only: copy the tensor first")
        } else {
            format!(
                "{by} would change {things}, which the hook does not declare: add {words} to its `mutates`, or copy the tensor \
                 first"
            )
        }))
    }

    /// Rejects a function of the engine, unless the hook has a role or declares one of `parts`.
    pub(crate) fn check_engine(
        &self,
        point: Option<Point>,
        function: &str,
        parts: Parts,
    ) -> Result<()> {
        let has_role = point.is_some_and(Point::is_role);
        crate::ensure!(
            has_role || self.mutates.meets(parts),
            "{function}() changes {}: it is for roles (on_train_forward and the like) while they are called, and for hooks with {} in \
             their `mutates`",
            parts.things(),
            parts.words(" or ")
        );
        Ok(())
    }
}

fn here(point: Option<Point>) -> String {
    point.map_or_else(|| "here".to_owned(), |point| format!("at {point}"))
}

/// Refuses to set output or loss outside a role.
pub(crate) fn in_role(point: Option<Point>, what: &str) -> Result<()> {
    crate::ensure!(
        point.is_some_and(Point::is_role),
        "the {what} cannot be set {}: only a role (on_train_forward and the like) can set it, while it is being called",
        here(point)
    );
    Ok(())
}

/// Refuses to change the batch unless it is about to be used.
pub(crate) fn before_iter(point: Option<Point>, what: &str) -> Result<()> {
    let is_before = |point: Point| {
        let name = point.name();
        name.starts_with("before_") && name.ends_with("_iter")
    };
    crate::ensure!(
        point.is_some_and(is_before),
        "the {what} cannot be set {}: the batch can be changed at before_iter and before_train_iter (or before_eval_iter and the \
         like), before it is used; a role runs the model on another input by model()",
        here(point)
    );
    Ok(())
}

/// The hook that holds the training forward role, for other hooks to have it run.
pub(crate) struct ForwardHolder {
    pub(crate) name: &'static str,
    pub(crate) called_as: Point,
    pub(crate) instance: Rc<HookInstance>,
}

impl ForwardHolder {
    /// Calls the role.
    pub(crate) fn run(&self) -> Result<()> {
        let Self { name, called_as, instance } = self;
        crate::ensure!(
            !instance.is_called(),
            "train_forward() calls `{name}`, which has the role {called_as} and is itself being called: the hook with this role must \
             run its own forward pass"
        );
        let called = instance.on_point(*called_as);
        called.map_err(|why| Error::new(format!("hook `{name}` failed at {called_as}: {why}")))
    }

    /// Rejects a call that would bypass the hook with the training forward role.
    pub(crate) fn check_pass(&self, caller: &str, function: &str) -> Result<()> {
        let Self { name, called_as, .. } = self;
        crate::ensure!(
            caller == *name,
            "{function}() by `{caller}` would bypass `{name}`, which has the role {called_as}: call train_forward() (plugin-api \
             1.2), which runs `{name}`, or model(), which only runs the model"
        );
        Ok(())
    }
}
