//! Passes over data without training: validation, test, prediction.

use super::ending::Ending;
use super::fit::{Result, Trainer};
use super::loaders::EvalSet;
use crate::context::Slot;
use crate::engine::Engine;
use crate::engine::data::{Batch, Loader, Target};
use crate::engine::generate::{SamplingSettings, generate};
use crate::events::Series;
use hookrack_plugin_api::{EvalPass, Phase};
use tch::Tensor;

/// Batches that each pipeline evaluates between two synchronizations of its stages.
const BATCHES_IN_FLIGHT: u64 = 8;

impl Trainer {
    /// Runs the test points over the test data and over every named test set, whose results are the scalars
    /// `test/NAME/METRIC`.
    pub fn test(&mut self) -> (Ending, Vec<(String, f64)>) {
        let mut values = Vec::new();
        let ending = self.run(|t| t.test_sets(&mut values));
        (ending, values)
    }

    fn test_sets(&mut self, values: &mut Vec<(String, f64)>) -> Result<()> {
        if self.loaders.test.is_some() {
            values.extend(self.test_set(EvalSet::Test)?);
        }
        for number in 0..self.loaders.tests.len() {
            if self.signal().is_some() {
                break;
            }
            let set = self.loaders.tests[number].0.clone();
            self.context.events.borrow_mut().enter_set(&set);
            for (name, value) in self.test_set(EvalSet::NamedTest(number))? {
                let name = name.replacen("test/", &format!("test/{set}/"), 1);
                let key = self.context.events.borrow_mut().key(&name, false);
                self.context.put(key, value);
                values.push((name, value));
            }
            // Their own pass has already printed them, under their short names.
            self.context.events.borrow_mut().mark_scalars_written();
        }
        Ok(())
    }

    /// One pass over the test data; returns every scalar of a pass that was logged in it: metrics, the loss, those of hooks.
    fn test_set(&mut self, split: EvalSet) -> Result<Vec<(String, f64)>> {
        let counts =
            |t: &Self| t.context.events.borrow().all().map(Series::count).collect::<Vec<_>>();
        let before = counts(self);
        self.pass(split)?;
        let events = self.context.events.borrow();
        let before = before.into_iter().chain(std::iter::repeat(0));
        let fresh = events.all().zip(before).filter(|(series, count)| series.count() > *count);
        let fresh = fresh.map(|(series, _)| series).filter(|series| !series.is_smooth());
        let tested = fresh.filter(|series| series.name().starts_with("test/"));
        Ok(tested
            .filter_map(|series| Some((series.name().to_string(), series.latest()?)))
            .collect())
    }

    /// Runs the pred points over the data to predict; returns the outputs in order, on the main rank of several.
    pub fn predict(&mut self) -> (Ending, Vec<Tensor>) {
        let ending = self.run(|t| t.pass(EvalSet::Pred).map(drop));
        (ending, std::mem::take(&mut self.results.predictions))
    }

    /// Whether the data to predict have classes.
    pub fn classifies(&self) -> bool {
        let spec = self.loaders.pred.as_ref().map(Loader::spec);
        spec.is_some_and(|spec| matches!(spec.target, Target::Classes(_)))
    }

    /// One pass over a split; false if a signal interrupted it.
    pub(super) fn pass(&mut self, split: EvalSet) -> Result<bool> {
        let phase = split.phase();
        let Some(points) = EvalPass::of(phase) else { return Ok(true) };
        let Some(loader) = self.loaders.get(split) else { return Ok(true) };
        loader.begin(0, 0);
        let inner_len = loader.batches();
        self.with_engine(Engine::share_buffers)?;
        tracing::debug!("{} pass over {inner_len} batches", phase.name());
        self.context.writers.borrow_mut().begin_pass();
        let outcome = self.in_phase(phase, inner_len, |t| {
            t.fire_all(points.enter)?;
            let outcome = t.batches(split, points);
            let is_whole = matches!(outcome, Ok(true));
            t.close(points.close, outcome.map(drop))?;
            if is_whole { t.fire_all(points.leave).map(|()| true) } else { Ok(false) }
        });
        if phase == Phase::Val {
            let (events, progress) = (self.context.events.borrow(), self.context.progress.get());
            self.context.writers.borrow_mut().end_pass(&events, &progress);
        }
        outcome
    }

    /// Continues a row of tokens, between the points of a prediction without a batch, so that hooks that swap in averaged weights
    /// do so here too. `tell` is told each token as soon as it is drawn; a signal ends the row.
    pub fn generate(
        &mut self,
        prompt: &[i64],
        count: usize,
        drawing: &SamplingSettings,
        mut tell: impl FnMut(i64),
    ) -> Ending {
        self.run(|t| {
            t.in_phase(Phase::Pred, 0, |t| {
                let outcome = t.fire_all(EvalPass::PRED.begin).and_then(|()| {
                    let tell = |token| {
                        tell(token);
                        t.signal().is_none()
                    };
                    t.with_engine(|it| generate(it.model(), prompt, count, drawing, tell))?;
                    if t.signal().is_some() { Ok(()) } else { t.fire_all(EvalPass::PRED.end) }
                });
                t.close(EvalPass::PRED.close, outcome)
            })
        })
    }

    /// Runs something in another phase; the position of training is restored afterwards.
    fn in_phase<T>(
        &mut self,
        phase: Phase,
        inner_len: u64,
        body: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.context.progress.get();
        self.context.advance(|p| {
            p.phase = phase;
            (p.inner_iter, p.inner_len, p.micro, p.micros) = (0, inner_len, 0, 1);
        });
        let outcome = body(self);
        self.context.advance(|p| {
            (p.phase, p.inner_iter, p.inner_len) =
                (before.phase, before.inner_iter, before.inner_len);
            (p.batch_size, p.micro, p.micros) = (before.batch_size, before.micro, before.micros);
        });
        outcome
    }

    fn batches(&mut self, split: EvalSet, points: EvalPass) -> Result<bool> {
        self.fire_all(points.begin)?;
        // Hooks may have changed the weights for the evaluation.
        self.with_engine(Engine::share_tied)?;
        let mut output = None;
        while let Some(batch) = self.fetch_from(split)? {
            // Ranks take batches in turn: those of the others are empty here.
            if batch.rows() > 0 {
                output = self.evaluate_batch(batch, split, points)?;
            }
            if !self.ends_round() {
                continue;
            }
            self.with_engine(Engine::finish_sends)?;
            if split == EvalSet::Pred {
                let outputs = self.gather_outputs(output.take())?;
                self.results.predictions.extend(outputs);
            }
            self.context.draw_pass();
            self.agree_on_signals()?;
            if self.signal().is_some() {
                return Ok(false);
            }
        }
        self.fire_all(points.end).map(|()| true)
    }

    /// Whether every rank has had its turn, or the pass ends.
    fn ends_round(&self) -> bool {
        let progress = self.context.progress.get();
        let engine = self.context.engine.borrow();
        let round = match engine.stage() {
            // Stages that meet after every batch would wait for each other most of the time.
            Some(_) => BATCHES_IN_FLIGHT * engine.rank().world as u64,
            None => u64::from(progress.world.max(1)),
        };
        progress.inner_iter.is_multiple_of(round) || progress.inner_iter >= progress.inner_len
    }

    /// Returns the output of a prediction.
    fn evaluate_batch(
        &mut self,
        batch: Batch,
        split: EvalSet,
        points: EvalPass,
    ) -> Result<Option<Tensor>> {
        let is_prediction = split == EvalSet::Pred;
        self.context.advance(|p| p.batch_size = batch.rows().unsigned_abs());
        self.context.set_batch(batch.input, (!is_prediction).then_some(batch.label));
        self.fire_all(points.before_iter)?;
        self.role(points.forward)?;
        let output = is_prediction
            .then(|| self.context.current.borrow().tensor(Slot::Output).map(Tensor::shallow_clone));
        self.fire_all(points.after_iter)?;
        self.locate(self.context.end_iteration()).map(|()| output.flatten())
    }

    /// Fetches the next batch, which is empty if it is another rank's turn; `None` at the end.
    fn fetch_from(&mut self, split: EvalSet) -> Result<Option<Batch>> {
        let Some(loader) = self.loaders.get(split) else { return Ok(None) };
        let batch = loader.next_batch();
        let batch = self.locate(batch)?;
        if batch.is_some() {
            self.context.advance(|p| p.inner_iter += 1);
        }
        Ok(batch)
    }
}
