//! One sample's place in a batch: a data set writes to it, and transforms are applied on the way.

use super::transform::{Chain, Scratch};

/// Elements of one row of a batch.
#[derive(Debug)]
pub(super) enum Elements<'a> {
    /// Pixels, features, values, class probabilities.
    Floats(&'a mut [f32]),
    /// Classes or tokens.
    Ints(&'a mut [i64]),
}

/// Where one sample goes. A data set calls one of the functions for the input and one for the label.
#[derive(Debug)]
pub struct SampleBuffer<'a> {
    pub(super) input: Elements<'a>,
    pub(super) label: Elements<'a>,
    pub(super) chain: &'a Chain,
    pub(super) scratch: &'a mut Scratch,
}

impl SampleBuffer<'_> {
    /// An input of bytes, channel by channel; the data set's brightest one becomes 1.0.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if let Elements::Floats(row) = &mut self.input {
            self.chain.render(bytes, self.scratch, row);
        }
    }

    /// An input of numbers.
    pub fn floats(&mut self, values: impl IntoIterator<Item = f32>) {
        if let Elements::Floats(row) = &mut self.input {
            self.chain.render_numbers(values, self.scratch, row);
        }
    }

    /// An input of tokens.
    pub fn tokens(&mut self, tokens: impl IntoIterator<Item = i64>) {
        if let Elements::Ints(row) = &mut self.input {
            row.iter_mut().zip(tokens).for_each(|(place, token)| *place = token);
        }
    }

    /// A label: the next token for each token of the input.
    pub fn following(&mut self, tokens: impl IntoIterator<Item = i64>) {
        if let Elements::Ints(row) = &mut self.label {
            row.iter_mut().zip(tokens).for_each(|(place, token)| *place = token);
        }
    }

    /// A label that is a class number.
    pub fn class(&mut self, class: i64) {
        match &mut self.label {
            Elements::Ints(row) => row.fill(class),
            // Probabilities: one class has all of it, until samples are mixed.
            Elements::Floats(row) => {
                row.fill(0.0);
                if let Some(place) = usize::try_from(class).ok().and_then(|at| row.get_mut(at)) {
                    *place = 1.0;
                }
            }
        }
    }

    /// A label of numbers.
    pub fn values(&mut self, values: impl IntoIterator<Item = f32>) {
        if let Elements::Floats(row) = &mut self.label {
            row.iter_mut().zip(values).for_each(|(place, value)| *place = value);
        }
    }
}
