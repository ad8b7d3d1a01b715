//! `hookrack predict --prompt`: a text that a model of tokens goes on with.

use super::exit::{Failure, code_of};
use crate::engine::generate::Drawing;
use crate::job::Job;
use crate::stdio;
use crate::train::{Interrupt, Parts, Resume, Trainer};
use crate::writers::{Writers, leave_terminal};
use clap::Args;
use std::process::ExitCode;
use std::sync::Arc;

/// How a prompt is gone on with.
#[derive(Args)]
pub(super) struct SampleArgs {
    /// Continue this text and print it, instead of predicting [data.pred]; for language models such as GPT
    #[arg(long, value_name = "TEXT")]
    pub(super) prompt: Option<String>,

    /// Number of tokens to generate
    #[arg(long, value_name = "COUNT", default_value_t = 400, requires = "prompt")]
    tokens: usize,

    /// Sampling temperature: lower is more conservative, 0 always takes the most likely token
    #[arg(long, value_name = "NUMBER", default_value_t = 0.8, requires = "prompt")]
    temperature: f64,

    /// Sample from this many of the most likely tokens; 0 for all
    #[arg(long, value_name = "COUNT", default_value_t = 0, requires = "prompt")]
    top_k: usize,

    /// Seed of the random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "prompt")]
    seed: u64,
}

impl SampleArgs {
    /// Prints the prompt and what the checkpoint makes of it.
    pub(super) fn run(&self, prompt: &str, job: &Job, resume: Resume) -> Result<ExitCode, Failure> {
        let wrong = |why: &str| {
            let help = "a prompt is for a model of text, in the characters of that text";
            Failure::from(job.config.refuse("model", why, help))
        };
        let parts = Parts::build(&job.config)?;
        let (data, is_text) = (Arc::clone(parts.loaders.train.dataset()), parts.takes_tokens());
        if !is_text {
            return Err(wrong("this model does not take rows of tokens"));
        }
        let known = data.vocabulary();
        let prompt = encode(prompt, known).map_err(|why| wrong(&why))?;
        let Self { temperature, top_k, seed, .. } = *self;
        let interrupt = Interrupt::listen(leave_terminal).map_err(Failure::usage)?;
        let mut trainer = Trainer::assemble(parts, job, Writers::default(), None, interrupt)?;
        trainer.resume_from(resume);
        let drawing = Drawing { temperature, top_k, seed };
        let (ending, tokens) = trainer.generate(&prompt, self.tokens, &drawing);
        let code = code_of(ending)?;
        let text = decode(&[prompt, tokens].concat(), known);
        stdio::print_bytes(&[&text[..], b"\n"].concat());
        Ok(code)
    }
}

/// The tokens of a text: numbers of characters, or its bytes where there are no characters.
fn encode(text: &str, known: &[char]) -> Result<Vec<i64>, String> {
    if text.is_empty() {
        return Err("an empty prompt: give at least one token".into());
    }
    if known.is_empty() {
        return Ok(text.bytes().map(i64::from).collect());
    }
    let number = |character| {
        let place = known.iter().position(|known| *known == character);
        let place = place.and_then(|place| i64::try_from(place).ok());
        place.ok_or_else(|| format!("{character:?} is not in the text that the model knows"))
    };
    text.chars().map(number).collect()
}

/// The text of tokens, as bytes: a row may end within a character.
fn decode(tokens: &[i64], known: &[char]) -> Vec<u8> {
    if known.is_empty() {
        return tokens.iter().filter_map(|token| u8::try_from(*token).ok()).collect();
    }
    let characters = tokens.iter().filter_map(|token| known.get(usize::try_from(*token).ok()?));
    characters.collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_tokens_and_comes_back() {
        let known = ['a', 'b', 'é'];
        assert_eq!(encode("béa", &known), Ok(vec![1, 2, 0]));
        assert_eq!(decode(&[1, 2, 0], &known), "béa".as_bytes());
        assert!(encode("c", &known).unwrap_err().contains("'c'"));
        assert!(encode("", &[]).unwrap_err().contains("empty"));
        assert_eq!(encode("é", &[]), Ok(vec![0xC3, 0xA9]));
        assert_eq!(decode(&[0xC3, 0xA9], &[]), "é".as_bytes());
    }
}
