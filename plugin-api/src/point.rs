//! The points of a run at which hooks are called, each with its place in the loop.
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
//!       before_clip_grad                           gradients of the whole batch, of true size
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

/// Passes the list of all points to another macro: doc lines, code, variant, method, [`Pace`], and `role` where exactly
/// one hook answers. This is the only place that lists them. A new point goes to the end: codes are part of the ABI and
/// never change. The first ones are in the loop's order; a later one says behind `@` which point it comes right before.
macro_rules! with_points {
    ($then:ident) => {
        $then! {
            /// The hook joins the run; `iter` tells how far the run already is.
            0 OnAttach on_attach: Run,
            /// A run begins: training, evaluation or prediction.
            1 BeforeRun before_run: Run,
            /// A checkpoint was read back, for a resume or for its weights alone.
            2 AfterLoadCheckpoint after_load_checkpoint: Run,
            /// Training begins.
            3 BeforeTrain before_train: Run,
            /// An epoch begins, in whatever phase.
            4 BeforeEpoch before_epoch: Epoch,
            /// A training epoch begins.
            5 BeforeTrainEpoch before_train_epoch: Epoch,
            /// An iteration begins, in whatever phase. Must be cheap.
            6 BeforeIter before_iter: Iter,
            /// A training iteration begins; its batch is there. Must be cheap.
            7 BeforeTrainIter before_train_iter: Iter,
            /// ROLE: computes output and loss of a training micro-batch.
            8 OnTrainForward on_train_forward: Iter role,
            /// ROLE: computes output and loss where no phase's own role is taken.
            9 OnIterForward on_iter_forward: Iter role,
            /// Output and loss of a micro-batch are there.
            10 AfterForward after_forward: Iter,
            /// The loss is about to be differentiated.
            11 BeforeBackward before_backward: Iter,
            /// ROLE: differentiates the loss.
            12 OnIterBackward on_iter_backward: Iter role,
            /// The gradients of a micro-batch are added up.
            13 AfterBackward after_backward: Iter,
            /// All gradients are there, unscaled and clipped.
            14 BeforeOptimizerStep before_optimizer_step: Iter,
            /// ROLE: changes the parameters.
            15 OnOptimizerStep on_optimizer_step: Iter role,
            /// The parameters have changed.
            16 AfterOptimizerStep after_optimizer_step: Iter,
            /// ROLE: sets the learning rate for what comes next.
            17 OnLrAdjust on_lr_adjust: Iter role,
            /// A training iteration is done; output, label and loss are still there.
            18 AfterTrainIter after_train_iter: Iter,
            /// An iteration is done, in whatever phase.
            19 AfterIter after_iter: Iter,
            /// A training epoch is done.
            20 AfterTrainEpoch after_train_epoch: Epoch,
            /// An epoch is done, in whatever phase.
            21 AfterEpoch after_epoch: Epoch,
            /// Validation begins.
            22 BeforeVal before_val: Epoch,
            /// A test begins.
            23 BeforeTest before_test: Epoch,
            /// Prediction begins.
            24 BeforePred before_pred: Epoch,
            /// Validation or a test begins.
            25 BeforeEval before_eval: Epoch,
            /// The pass over validation or test data begins.
            26 BeforeEvalEpoch before_eval_epoch: Epoch,
            /// The pass over the validation data begins.
            27 BeforeValEpoch before_val_epoch: Epoch,
            /// The pass over the test data begins.
            28 BeforeTestEpoch before_test_epoch: Epoch,
            /// The pass over the data to predict begins.
            29 BeforePredEpoch before_pred_epoch: Epoch,
            /// A validation or test iteration begins.
            30 BeforeEvalIter before_eval_iter: Iter,
            /// A validation iteration begins.
            31 BeforeValIter before_val_iter: Iter,
            /// A test iteration begins.
            32 BeforeTestIter before_test_iter: Iter,
            /// A prediction iteration begins.
            33 BeforePredIter before_pred_iter: Iter,
            /// ROLE: computes output and loss of a validation or test batch.
            34 OnValForward on_val_forward: Iter role,
            /// ROLE: computes the output of a batch to predict.
            35 OnPredForward on_pred_forward: Iter role,
            /// A validation iteration is done.
            36 AfterValIter after_val_iter: Iter,
            /// A test iteration is done.
            37 AfterTestIter after_test_iter: Iter,
            /// A prediction iteration is done; the output is still there.
            38 AfterPredIter after_pred_iter: Iter,
            /// A validation or test iteration is done.
            39 AfterEvalIter after_eval_iter: Iter,
            /// The pass over the validation data is done.
            40 AfterValEpoch after_val_epoch: Epoch,
            /// The pass over the test data is done.
            41 AfterTestEpoch after_test_epoch: Epoch,
            /// The pass over the data to predict is done.
            42 AfterPredEpoch after_pred_epoch: Epoch,
            /// The pass over validation or test data is done.
            43 AfterEvalEpoch after_eval_epoch: Epoch,
            /// Validation or a test is over: always where `before_eval` was reached, also when the pass failed or was
            /// cut short by a signal. What is lent to a pass is taken back here.
            44 AfterEval after_eval: Epoch,
            /// Validation is done.
            45 AfterVal after_val: Epoch,
            /// The test is done.
            46 AfterTest after_test: Epoch,
            /// Prediction is over: always where `before_pred` was reached, as `after_eval`.
            47 AfterPred after_pred: Epoch,
            /// A training epoch and the validation that belongs to it are both done.
            48 AfterCycle after_cycle: Epoch,
            /// A checkpoint is about to be written.
            49 BeforeSaveCheckpoint before_save_checkpoint: Run,
            /// A checkpoint was written.
            50 AfterSaveCheckpoint after_save_checkpoint: Run,
            /// Something failed; what and where is in the trainer.
            51 OnException on_exception: Run,
            /// Training is over, however it ended.
            52 AfterTrain after_train: Run,
            /// The run is over, however it ended.
            53 AfterRun after_run: Run,
            /// The hook leaves the run.
            54 OnDetach on_detach: Run,
            /// All gradients are there, those of the whole batch and unscaled, and are about to be clipped; also where
            /// the config clips nothing. What a hook makes of them is clipped. Lightning's `on_before_optimizer_step`.
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
        /// A place in the run at which hooks are called. The module's page draws the loop.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Point { $($(#[doc = $doc])* $variant = $code,)* }

        impl Point {
            /// Every point, in the order of the codes.
            pub const ALL: &'static [Point] = &[$(Self::$variant),*];

            /// The name that a hook's method, a config and every message use.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($method)),* }
            }

            /// What has happened when the point is reached, in a sentence.
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),*).trim_ascii()),* }
            }

            /// How often the point is reached.
            pub const fn pace(self) -> Pace {
                match self { $(Self::$variant => Pace::$pace),* }
            }

            /// A number that grows in the order in which a run first reaches the points, unlike the code of one that
            /// was added later.
            pub const fn place(self) -> u32 {
                match self { $(Self::$variant => place!($variant $($next)?)),* }
            }

            /// Whether exactly one hook answers here.
            pub const fn is_role(self) -> bool {
                match self { $(Self::$variant => is_role!($($role)?)),* }
            }
        }
    };
}
with_points!(define_points);

impl Point {
    /// How many points there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The number by which the ABI knows the point.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The point of a code; `None` for a code that this version does not know.
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }

    /// Names that points have elsewhere, accepted for ours: LiBai's two of the training iteration, Orca's six of its
    /// `Callback`, ColossalAI's for a hook that joins. `#[hook]` knows the same ones as names of methods.
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

    /// Whether hooks are called in reverse order, as they leave.
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

/// Whether a point is reached once it is known how a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fires {
    /// Whatever happens.
    Always,
    /// As in the middle of a run: where its place in the loop is reached.
    InTurn,
    /// Not any more.
    Never,
}

impl Point {
    /// Whether the point is still reached after it is known that the run ends like this.
    ///
    /// | ending | iteration in progress | epoch in progress | checkpoint | `on_exception` | `after_train`, `after_run`, `on_detach` |
    /// |---|---|---|---|---|---|
    /// | completed | done | ended | if asked for | never | always |
    /// | stopped by a hook | done | ended if it was whole | always | never | always |
    /// | interrupted | done | cut off | always | never | always |
    /// | failed | cut off | cut off | never | always | always |
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
            // Where the pass that they close has begun.
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
    fn every_point_stands_in_the_drawing_of_the_loop() {
        let drawing = include_str!("point.rs").split("use crate").next().unwrap();
        for point in Point::ALL {
            let name = point.name().replace("_test", "_val").replace("_pred", "_val");
            assert!(drawing.contains(&name), "{point} is missing from the drawing");
        }
    }
}
