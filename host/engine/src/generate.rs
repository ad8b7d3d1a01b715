//! Text generation: each token is sampled from the scores that the model computes for the previous ones.

use tch::{Device, Tensor};

use super::data::Prng;
use super::error::{EngineError, Result};
use super::model::{Mode, Model};
use hookrack_torch::autograd::GradMode;

/// How a token is sampled from scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingSettings {
    /// Temperature that scores are divided by; 0 always takes the most likely token.
    pub temperature: f64,
    /// Sample from this many of the most likely tokens only; 0 for all.
    pub top_k: usize,
    /// Seed of the samples.
    pub seed: u64,
}

/// The `count` tokens that follow a prompt. The model sees the last tokens that fit its context. `tell` is told each token as soon as it
/// is drawn; the row ends there if it returns false.
pub fn generate(
    model: &dyn Model,
    prompt: &[i64],
    count: usize,
    drawing: &SamplingSettings,
    mut tell: impl FnMut(i64) -> bool,
) -> Result<()> {
    let &[longest] = model.input_shape() else {
        return Err(EngineError::Data("this model does not take tokens".into()));
    };
    if prompt.is_empty() {
        return Err(EngineError::Data("the prompt is empty: pass at least one token".into()));
    }
    let _no_grad = GradMode::set(false);
    let (mut row, mut random) = (prompt.to_vec(), Prng::new(&[drawing.seed]));
    let longest = usize::try_from(longest).unwrap_or(usize::MAX);
    let device = model.params().first().map_or(Device::Cpu, |param| param.tensor.device());
    for _ in 0..count {
        let seen = &row[row.len().saturating_sub(longest)..];
        let input = Tensor::f_from_slice(seen)?.f_unsqueeze(0)?.f_to_device(device)?;
        let scores = model.forward(&input, Mode::Eval)?.f_select(0, 0)?.f_select(0, -1)?;
        let scores = Vec::<f64>::try_from(scores.f_to_kind(tch::Kind::Double)?)?;
        let token = draw(scores, drawing, &mut random)?;
        row.push(token);
        if !tell(token) {
            break;
        }
    }
    Ok(())
}

/// The number of one token.
#[expect(clippy::cast_possible_wrap, reason = "a vocabulary is far below 2^63")]
fn draw(mut scores: Vec<f64>, drawing: &SamplingSettings, random: &mut Prng) -> Result<i64> {
    if scores.is_empty() || scores.iter().any(|score| score.is_nan()) {
        let why = "the model's output is not finite: the weights are unusable";
        return Err(EngineError::Data(why.into()));
    }
    let by_score = |a: &f64, b: &f64| b.total_cmp(a);
    let mut sorted = scores.clone();
    sorted.sort_by(by_score);
    let best = sorted[0];
    let greedy = drawing.temperature <= 0.0 || drawing.top_k == 1;
    if greedy {
        return Ok(
            scores.iter().position(|score| score.total_cmp(&best).is_eq()).unwrap_or(0) as i64
        );
    }
    let kept = if drawing.top_k == 0 { sorted.len() } else { drawing.top_k.min(sorted.len()) };
    let bar = sorted[kept - 1];
    for score in &mut scores {
        let weight = ((*score - best) / drawing.temperature).exp();
        *score = if *score < bar { 0.0 } else { weight };
    }
    let mut left = f64::from(random.unit_f32()) * scores.iter().sum::<f64>();
    let chosen = scores.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    let last = scores.iter().rposition(|weight| *weight > 0.0);
    Ok(chosen.or(last).unwrap_or(0) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DataSpec, Target};
    use crate::model::{MODELS, ModelContext};
    use crate::registry::{Build as _, Choice};
    use hookrack_torch::rng;

    const WARM: SamplingSettings = SamplingSettings { temperature: 1.0, top_k: 0, seed: 5 };

    fn shares(scores: &[f64], drawing: &SamplingSettings) -> Vec<f64> {
        let (mut counts, mut random) = (vec![0.0; scores.len()], Prng::new(&[1]));
        for _ in 0..20_000 {
            let token = draw(scores.to_vec(), drawing, &mut random).unwrap();
            counts[usize::try_from(token).unwrap()] += 1.0 / 20_000.0;
        }
        counts
    }

    #[test]
    fn tokens_come_as_often_as_the_softmax_says() {
        let scores = [0.0, 2.0_f64.ln(), 5.0_f64.ln(), f64::NEG_INFINITY];
        let near = |found: Vec<f64>, wanted: [f64; 4]| {
            let far =
                found.iter().zip(wanted).find(|(found, wanted)| (*found - wanted).abs() > 0.02);
            assert!(far.is_none(), "{found:?}, not {wanted:?}");
        };
        near(shares(&scores, &WARM), [0.125, 0.25, 0.625, 0.0]);
        let cool = SamplingSettings { temperature: 0.5, ..WARM };
        near(shares(&scores, &cool), [1.0 / 30.0, 4.0 / 30.0, 25.0 / 30.0, 0.0]);
        let two = SamplingSettings { top_k: 2, ..WARM };
        near(shares(&scores, &two), [0.0, 2.0 / 7.0, 5.0 / 7.0, 0.0]);
        let cold = SamplingSettings { temperature: 0.0, ..WARM };
        near(shares(&scores, &cold), [0.0, 0.0, 1.0, 0.0]);
        assert!(draw(vec![0.0, f64::NAN], &WARM, &mut Prng::new(&[])).is_err());
    }

    #[test]
    fn one_seed_gives_one_text_and_a_long_prompt_is_cut() {
        rng::seed(0);
        let data = DataSpec { input: vec![4], target: Target::Tokens(9) };
        let context = ModelContext::new(data, Device::Cpu);
        let settings = [("layers", 1_i64.into()), ("heads", 1_i64.into()), ("width", 8_i64.into())];
        let model = Choice::new("GPT", &settings).build(MODELS, &context).unwrap();
        let text = |prompt: &[i64], seed| {
            let (drawing, mut row) = (SamplingSettings { seed, ..WARM }, Vec::new());
            let mut tell = |token| {
                row.push(token);
                true
            };
            generate(model.as_ref(), prompt, 12, &drawing, &mut tell).unwrap();
            row
        };
        assert_eq!(text(&[1, 2], 5), text(&[1, 2], 5));
        assert_ne!(text(&[1, 2], 5), text(&[1, 2], 6));
        assert_eq!(text(&[8, 8, 1, 2, 3, 4], 5), text(&[1, 2, 3, 4], 5));
        assert!(text(&[1], 5).iter().all(|token| (0..9).contains(token)));
        assert!(generate(model.as_ref(), &[], 1, &WARM, |_| true).is_err());
        let mut told = Vec::new();
        let mut until_three = |token| {
            told.push(token);
            told.len() < 3
        };
        generate(model.as_ref(), &[1, 2], 12, &WARM, &mut until_three).unwrap();
        assert_eq!(told, text(&[1, 2], 5)[..3], "each token is told when it is drawn");
    }
}
