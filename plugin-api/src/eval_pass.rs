//! The points of a pass over data without training: validation, test, prediction.

use crate::phase::Phase;
use crate::point::Point as P;

/// The points of a pass over data without training, in the order in which a run reaches them. The loop of the
/// host and the fake trainer walk these lists.
#[derive(Clone, Copy, Debug)]
pub struct EvalPass {
    /// Before everything else.
    pub enter: &'static [P],
    /// Before the first batch. If the first of them was fired, so is `close`.
    pub begin: &'static [P],
    /// Before each batch.
    pub before_iter: &'static [P],
    /// The role that runs the model.
    pub forward: P,
    /// After each batch.
    pub after_iter: &'static [P],
    /// After the last batch.
    pub end: &'static [P],
    /// However the pass ends: hooks restore here what they changed at the first of `begin`. Every hook is
    /// called, even if one fails.
    pub close: P,
    /// After a complete pass.
    pub leave: &'static [P],
}

impl EvalPass {
    /// A validation.
    pub const VAL: Self = Self {
        enter: &[P::BeforeVal],
        begin: &[P::BeforeEval, P::BeforeEpoch, P::BeforeEvalEpoch, P::BeforeValEpoch],
        before_iter: &[P::BeforeIter, P::BeforeEvalIter, P::BeforeValIter],
        forward: P::OnValForward,
        after_iter: &[P::AfterForward, P::AfterValIter, P::AfterEvalIter, P::AfterIter],
        end: &[P::AfterValEpoch, P::AfterEvalEpoch, P::AfterEpoch],
        close: P::AfterEval,
        leave: &[P::AfterVal],
    };

    /// A test.
    pub const TEST: Self = Self {
        enter: &[P::BeforeTest],
        begin: &[P::BeforeEval, P::BeforeEpoch, P::BeforeEvalEpoch, P::BeforeTestEpoch],
        before_iter: &[P::BeforeIter, P::BeforeEvalIter, P::BeforeTestIter],
        forward: P::OnValForward,
        after_iter: &[P::AfterForward, P::AfterTestIter, P::AfterEvalIter, P::AfterIter],
        end: &[P::AfterTestEpoch, P::AfterEvalEpoch, P::AfterEpoch],
        close: P::AfterEval,
        leave: &[P::AfterTest],
    };

    /// A prediction.
    pub const PRED: Self = Self {
        enter: &[],
        begin: &[P::BeforePred, P::BeforeEpoch, P::BeforePredEpoch],
        before_iter: &[P::BeforeIter, P::BeforePredIter],
        forward: P::OnPredForward,
        after_iter: &[P::AfterForward, P::AfterPredIter, P::AfterIter],
        end: &[P::AfterPredEpoch, P::AfterEpoch],
        close: P::AfterPred,
        leave: &[],
    };

    /// Returns the pass of a phase; `None` for training.
    pub fn of(phase: Phase) -> Option<Self> {
        match phase {
            Phase::Train => None,
            Phase::Val => Some(Self::VAL),
            Phase::Test => Some(Self::TEST),
            Phase::Pred => Some(Self::PRED),
        }
    }
}
