//! The points of a run at which hooks are called.
//!
//! ```text
//! on_attach                                        every hook, level order
//! before_run
//!   after_load_checkpoint                          when resuming or fine-tuning
//!   before_train
//!   for epoch:
//!     before_epoch, before_train_epoch
//!     for iter:
//!       before_iter, before_train_iter             must be cheap
//!       for micro-batch:
//!         ROLE on_train_forward                    default: on_iter_forward
//!         after_forward
//!         before_backward, ROLE on_iter_backward, after_backward
//!       before_clip_grad                           gradients of the whole batch, unscaled
//!       before_optimizer_step, ROLE on_optimizer_step, after_optimizer_step
//!       ROLE on_lr_adjust                          when the scheduler steps by iteration
//!       after_train_iter, after_iter
//!       VALIDATION                                 when due by iteration, except in the epoch's last one
//!       CHECKPOINT                                 when due by iteration
//!     ROLE on_lr_adjust                            when the scheduler steps by epoch
//!     after_train_epoch, after_epoch
//!     VALIDATION                                   when due, and at the end of training
//!     after_cycle                                  train and val metrics of this epoch are both there
//!     CHECKPOINT                                   when due
//!   on_exception                                   when the run failed
//!   after_train                                    ALWAYS once before_train was reached
//! after_run                                        ALWAYS
//! on_detach                                        reverse order, each isolated
//!
//! VALIDATION
//!   before_val, before_eval
//!   before_epoch, before_eval_epoch, before_val_epoch
//!   for batch:
//!     before_iter, before_eval_iter, before_val_iter
//!     ROLE on_val_forward                          default: on_iter_forward
//!     after_forward
//!     after_val_iter, after_eval_iter, after_iter
//!   after_val_epoch, after_eval_epoch, after_epoch
//!   after_eval                                     ALWAYS once before_eval was reached
//!   after_val                                      after a whole pass
//!
//! CHECKPOINT
//!   before_save_checkpoint, after_save_checkpoint
//! ```
//! `hookrack eval` runs the same pass with `test` in place of `val`, `hookrack predict` with `pred` (whose points have
//! no `eval` twin, since there is no label to evaluate against).

use crate::phase::Outcome;
use std::fmt;

/// Passes the list of all points to another macro: documentation, code, variant, method, [`Pace`], and `role` if the point is one.
/// This is the only list of them. A new point is appended: codes are part of the ABI and never change. The first ones are
/// in the order of the loop; a later one names after `@` the point that it directly precedes.
macro_rules! with_points {
    ($then:ident) => {
        $then! {
            /// The hook is attached to the run, before anything else. Check settings here that depend on the run.
            0 OnAttach on_attach: Run,
            /// Before everything: training, evaluation or prediction. Writers are opened here.
            1 BeforeRun before_run: Run,
            /// After a checkpoint was loaded, whole or only its weights.
            2 AfterLoadCheckpoint after_load_checkpoint: Run,
            /// Before training; also called after a resume.
            3 BeforeTrain before_train: Run,
            /// Before an epoch or pass, in every phase.
            4 BeforeEpoch before_epoch: Epoch,
            /// Before a training epoch; not called again when a run is resumed in the middle of it.
            5 BeforeTrainEpoch before_train_epoch: Epoch,
            /// Before an iteration, in every phase. Must be cheap: iteration time includes it.
            6 BeforeIter before_iter: Iter,
            /// Before a training iteration, with its batch; the batch can be changed here. Must be cheap.
            7 BeforeTrainIter before_train_iter: Iter,
            /// ROLE: computes output and loss of a training micro-batch.
            8 OnTrainForward on_train_forward: Iter role,
            /// ROLE: computes output and loss in every phase whose own forward role no hook has.
            9 OnIterForward on_iter_forward: Iter role,
            /// After the forward pass of a micro-batch, with its output and loss.
            10 AfterForward after_forward: Iter,
            /// Before the backward pass of a micro-batch.
            11 BeforeBackward before_backward: Iter,
            /// ROLE: computes the gradients of the loss.
            12 OnIterBackward on_iter_backward: Iter role,
            /// After the backward pass of a micro-batch; its gradients are accumulated.
            13 AfterBackward after_backward: Iter,
            /// Before the optimizer step, with all gradients unscaled and clipped.
            14 BeforeOptimizerStep before_optimizer_step: Iter,
            /// ROLE: updates the parameters.
            15 OnOptimizerStep on_optimizer_step: Iter role,
            /// After the optimizer step, with the updated parameters.
            16 AfterOptimizerStep after_optimizer_step: Iter,
            /// ROLE: sets the learning rate of the next iteration or epoch.
            17 OnLrAdjust on_lr_adjust: Iter role,
            /// After a training iteration; output, label and loss are still valid.
            18 AfterTrainIter after_train_iter: Iter,
            /// After an iteration, in every phase.
            19 AfterIter after_iter: Iter,
            /// After a training epoch, before its validation.
            20 AfterTrainEpoch after_train_epoch: Epoch,
            /// After an epoch or pass, in every phase.
            21 AfterEpoch after_epoch: Epoch,
            /// Before a validation.
            22 BeforeVal before_val: Epoch,
            /// Before a test.
            23 BeforeTest before_test: Epoch,
            /// Before a prediction.
            24 BeforePred before_pred: Epoch,
            /// Before a validation or a test; `after_eval` always follows. Swap in averaged weights here.
            25 BeforeEval before_eval: Epoch,
            /// Before the pass over the validation or test data.
            26 BeforeEvalEpoch before_eval_epoch: Epoch,
            /// Before the pass over the validation data.
            27 BeforeValEpoch before_val_epoch: Epoch,
            /// Before the pass over the test data.
            28 BeforeTestEpoch before_test_epoch: Epoch,
            /// Before the pass over the data to predict.
            29 BeforePredEpoch before_pred_epoch: Epoch,
            /// Before a validation or test iteration.
            30 BeforeEvalIter before_eval_iter: Iter,
            /// Before a validation iteration.
            31 BeforeValIter before_val_iter: Iter,
            /// Before a test iteration.
            32 BeforeTestIter before_test_iter: Iter,
            /// Before a prediction iteration.
            33 BeforePredIter before_pred_iter: Iter,
            /// ROLE: computes output and loss of a validation or test batch.
            34 OnValForward on_val_forward: Iter role,
            /// ROLE: computes the output of a batch to predict.
            35 OnPredForward on_pred_forward: Iter role,
            /// After a validation iteration.
            36 AfterValIter after_val_iter: Iter,
            /// After a test iteration.
            37 AfterTestIter after_test_iter: Iter,
            /// After a prediction iteration; the output is still valid.
            38 AfterPredIter after_pred_iter: Iter,
            /// After a validation or test iteration; output, label and loss are still valid.
            39 AfterEvalIter after_eval_iter: Iter,
            /// After the pass over the validation data.
            40 AfterValEpoch after_val_epoch: Epoch,
            /// After the pass over the test data.
            41 AfterTestEpoch after_test_epoch: Epoch,
            /// After the pass over the data to predict.
            42 AfterPredEpoch after_pred_epoch: Epoch,
            /// After the pass over the validation or test data.
            43 AfterEvalEpoch after_eval_epoch: Epoch,
            /// After a validation or a test; always if `before_eval` was reached, also if the pass failed or was interrupted by
            /// a signal. Restore here what `before_eval` changed.
            44 AfterEval after_eval: Epoch,
            /// After a complete validation.
            45 AfterVal after_val: Epoch,
            /// After a complete test.
            46 AfterTest after_test: Epoch,
            /// After a prediction; always if `before_pred` was reached, as `after_eval`.
            47 AfterPred after_pred: Epoch,
            /// After a training epoch and its validation, with the metrics of both.
            48 AfterCycle after_cycle: Epoch,
            /// Before a checkpoint is taken.
            49 BeforeSaveCheckpoint before_save_checkpoint: Run,
            /// After a checkpoint was taken; its files are written in the background.
            50 AfterSaveCheckpoint after_save_checkpoint: Run,
            /// After a failure; `failure` of the trainer has the error.
            51 OnException on_exception: Run,
            /// After training, however it ended; always if `before_train` was reached.
            52 AfterTrain after_train: Run,
            /// After the run, however it ended.
            53 AfterRun after_run: Run,
            /// The hook is detached from the run; called in reverse order.
            54 OnDetach on_detach: Run,
            /// Before clipping, with all gradients of the whole batch, unscaled; also if the config does not clip. Gradients that
            /// a hook changes here are clipped afterwards. Lightning's `on_before_optimizer_step`.
            55 BeforeClipGrad before_clip_grad: Iter @ BeforeOptimizerStep,
        }
    };
}
pub(crate) use with_points;

macro_rules! is_role {
    () => {
        false
    };
    (role) => {
        true
    };
}

macro_rules! place {
    ($own:ident) => {
        2 * Point::$own as u32
    };
    ($own:ident $next:ident) => {
        2 * Point::$next as u32 - 1
    };
}

macro_rules! define_points {
    ($($(#[doc = $doc:literal])* $code:literal $variant:ident $method:ident: $pace:ident $($role:ident)? $(@ $next:ident)?,)*) => {
        /// A place in the loop at which hooks are called. [The module](self) shows the loop.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Point { $($(#[doc = $doc])* $variant = $code,)* }

        impl Point {
            /// Every point, in the order of the codes.
            pub const ALL: &'static [Point] = &[$(Self::$variant),*];

            /// Its name in methods, configs and messages.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($method)),* }
            }

            /// When it is reached, in a sentence.
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),*).trim_ascii()),* }
            }

            /// How often it is reached.
            pub const fn pace(self) -> Pace {
                match self { $(Self::$variant => Pace::$pace),* }
            }

            /// A number that increases in the order of the loop, unlike the code of a point that was added later.
            pub const fn place(self) -> u32 {
                match self { $(Self::$variant => place!($variant $($next)?)),* }
            }

            /// Whether the point is a role, which has exactly one hook.
            pub const fn is_role(self) -> bool {
                match self { $(Self::$variant => is_role!($($role)?)),* }
            }
        }
    };
}
with_points!(define_points);

impl Point {
    /// The number of points.
    pub const COUNT: usize = Self::ALL.len();

    /// Its number in the ABI.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The point of a code; `None` for a code that this version does not know.
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }

    /// Names of points in other trainers that are accepted too: two of LiBai, six of Orca, one of ColossalAI. `#[hook]` accepts them as names of
    /// methods.
    pub const ALIASES: &'static [(&'static str, Self)] = &[
        ("before_step", Self::BeforeTrainIter),
        ("after_step", Self::AfterTrainIter),
        ("on_run_begin", Self::BeforeRun),
        ("on_run_end", Self::AfterRun),
        ("on_epoch_begin", Self::BeforeEpoch),
        ("on_epoch_end", Self::AfterEpoch),
        ("on_iter_begin", Self::BeforeIter),
        ("on_iter_end", Self::AfterIter),
        ("after_hook_is_attached", Self::OnAttach),
    ];

    /// The point of a name, its own or one of [`ALIASES`](Self::ALIASES).
    pub fn from_name(name: &str) -> Option<Self> {
        let own = Self::ALL.iter().copied().find(|point| point.name() == name);
        own.or_else(|| Self::ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, it)| *it))
    }

    /// Whether hooks are called in reverse order.
    pub const fn is_reversed(self) -> bool {
        matches!(self, Self::OnDetach)
    }
}

/// How often a point is reached. `every` and `phase` of a hook's config entry skip points of epochs and iterations,
/// never those of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Once in a run, or whenever a checkpoint is read or written.
    Run,
    /// In every epoch or pass over data.
    Epoch,
    /// In every iteration.
    Iter,
}

/// Whether a point is still reached after the outcome of a run is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fires {
    /// In any case.
    Always,
    /// If its place in the loop is reached.
    InTurn,
    /// No.
    Never,
}

impl Point {
    /// Whether the point is still reached after it is known that the run ends with this outcome.
    ///
    /// | ending | iteration in progress | epoch in progress | checkpoint | `on_exception` | `after_train`, `after_run`, `on_detach` |
    /// |---|---|---|---|---|---|
    /// | completed | finished | finished | if requested | never | always |
    /// | stopped by a hook | finished | finished if it was complete | always | never | always |
    /// | interrupted | finished | cut short | always | never | always |
    /// | failed | cut short | cut short | never | always | always |
    ///
    /// `after_eval` and `after_pred` follow `before_eval` and `before_pred` on every ending.
    pub const fn fires_on(self, ending: Outcome) -> Fires {
        match (self, ending) {
            (Self::AfterTrain | Self::AfterRun | Self::OnDetach, _)
            | (Self::OnException, Outcome::Failed)
            | (
                Self::BeforeSaveCheckpoint | Self::AfterSaveCheckpoint,
                Outcome::Interrupted | Outcome::Stopped,
            ) => Fires::Always,
            // If the pass that they close has begun.
            (Self::AfterEval | Self::AfterPred, _) => Fires::InTurn,
            (Self::OnException, _) | (_, Outcome::Failed) => Fires::Never,
            (_, Outcome::Completed | Outcome::Stopped) => Fires::InTurn,
            (point, Outcome::Interrupted) => {
                if matches!(point.pace(), Pace::Iter) {
                    Fires::InTurn
                } else {
                    Fires::Never
                }
            }
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_dense_and_names_come_back() {
        for (i, point) in Point::ALL.iter().enumerate() {
            assert_eq!(point.code() as usize, i);
            assert_eq!(Point::from_code(point.code()), Some(*point));
            assert_eq!(Point::from_name(point.name()), Some(*point));
            assert!(!point.doc().is_empty());
        }
        assert_eq!(Point::from_code(9999), None);
    }

    #[test]
    fn a_name_from_elsewhere_means_one_of_our_points() {
        assert_eq!(Point::from_name("before_step"), Some(Point::BeforeTrainIter));
        assert_eq!(Point::from_name("on_run_begin"), Some(Point::BeforeRun));
        assert_eq!(Point::from_name("on_epoch_end"), Some(Point::AfterEpoch));
        assert_eq!(Point::from_name("on_run_start"), None);
        for (alias, point) in Point::ALIASES {
            assert!(Point::ALL.iter().all(|own| own.name() != *alias), "{alias} is a name of ours");
            assert_eq!(Point::from_name(alias), Some(*point));
        }
    }

    #[test]
    fn every_point_is_in_the_drawing_of_the_loop() {
        let drawing = include_str!("point.rs").split("use crate").next().unwrap();
        for point in Point::ALL {
            let name = point.name().replace("_test", "_val").replace("_pred", "_val");
            assert!(drawing.contains(&name), "{point} is missing from the drawing");
        }
    }
}
