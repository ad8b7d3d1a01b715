//! `hookrack predict --prompt`: continues a text with a language model.

use super::exit::{Failure, code_of};
use super::text_stream::TextStream;
use super::train::watchdog;
use crate::engine::generate::SamplingSettings;
use crate::job::Job;
use crate::stdio;
use crate::train::{Ending, Interrupt, Parts, Resume, Trainer};
use crate::writers::{Writers, leave_interrupted};
use clap::Args;
use std::process::ExitCode;
use std::sync::Arc;

/// How a prompt is continued.
#[derive(Args)]
pub(super) struct SampleArgs {
    /// Continue this text and print it, instead of predicting [data.pred]; for language models such as GPT. If the
    /// data set is `Tokens`, TEXT is token ids separated by spaces
    #[arg(long, value_name = "TEXT")]
    pub(super) prompt: Option<String>,

    /// Number of tokens to generate
    #[arg(long, value_name = "COUNT", default_value_t = 400, requires = "prompt")]
    tokens: usize,

    /// Sampling temperature: lower is more conservative, 0 always takes the most likely token
    #[arg(long, value_name = "NUMBER", default_value_t = 0.8, requires = "prompt", value_parser = temperature, allow_negative_numbers = true)]
    temperature: f64,

    /// Sample from this many of the most likely tokens; 0 for all
    #[arg(long, value_name = "COUNT", default_value_t = 0, requires = "prompt")]
    top_k: usize,

    /// Seed of the random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "prompt")]
    seed: u64,
}

fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "must be a number of at least 0".to_owned())
}

impl SampleArgs {
    /// Prints the prompt and its continuation.
    pub(super) fn run(&self, prompt: &str, job: &Job, resume: Resume) -> Result<ExitCode, Failure> {
        let wrong = |why: &str| {
            let help = "--prompt needs a language model: pass text, or token ids if the model was trained on ids";
            Failure::from(job.config.refuse("model", why, help))
        };
        let parts = Parts::build(&job.config)?;
        let (data, is_text) = (Arc::clone(parts.loaders.train.dataset()), parts.takes_tokens());
        if !is_text {
            return Err(wrong("this model does not take tokens"));
        }
        let known = data.vocabulary();
        let prompt = known.encode(prompt).map_err(|why| wrong(&why))?;
        let vocabulary = parts.engine.model().info().output_shape.last().copied();
        let count = vocabulary.unwrap_or(i64::MAX);
        if let Some(token) = prompt.iter().find(|token| **token >= count) {
            return Err(wrong(&format!("{token} is not one of the model's {count} tokens")));
        }
        let Self { temperature, top_k, seed, .. } = *self;
        let interrupt = Interrupt::listen(leave_interrupted).map_err(Failure::usage)?;
        let _watchdog = watchdog(job, &interrupt);
        let mut trainer = Trainer::assemble(parts, job, Writers::default(), None, interrupt)?;
        trainer.resume_from(resume);
        let drawing = SamplingSettings { temperature, top_k, seed };
        let mut text = TextStream::new(known, &prompt);
        let ending = trainer.generate(&prompt, self.tokens, &drawing, |token| {
            stdio::print_now(&text.next(token));
        });
        if text.has_begun() || !matches!(ending, Ending::Failed(_)) {
            stdio::print_now(&text.end());
        }
        code_of(ending)
    }
}
