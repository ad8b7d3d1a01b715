//! What a data set's samples look like: the shape of an input, and what a label is.

/// What a data set's samples look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSpec {
    /// Shape of one input.
    pub input: Vec<i64>,
    /// What a label is.
    pub target: Target,
}

/// What a label is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One of this many class numbers.
    Classes(i64),
    /// A probability for each of this many classes: what class indices become when samples are mixed.
    Shares(i64),
    /// Numbers of this shape.
    Values(Vec<i64>),
    /// The next token for each token of the input, out of a vocabulary of this size. The input is a row of
    /// such tokens too: both are int64 of the same shape.
    Tokens(i64),
}

impl DataSpec {
    /// The number of outputs that a model should have per sample, or per token.
    pub fn outputs(&self) -> Option<i64> {
        match &self.target {
            Target::Classes(count) | Target::Shares(count) | Target::Tokens(count) => Some(*count),
            Target::Values(shape) => Some(shape.iter().product()),
        }
    }

    /// Whether an input is a row of token ids; otherwise it is floats.
    pub fn has_tokens(&self) -> bool {
        matches!(self.target, Target::Tokens(_))
    }

    /// The shape of one label.
    pub(super) fn label_shape(&self) -> Vec<i64> {
        match &self.target {
            Target::Classes(_) => Vec::new(),
            Target::Shares(count) => vec![*count],
            Target::Values(shape) => shape.clone(),
            Target::Tokens(_) => self.input.clone(),
        }
    }

    /// The numbers of a label.
    pub(super) fn label_len(&self) -> usize {
        match &self.target {
            Target::Classes(_) => 1,
            Target::Shares(count) => elements(&[*count]),
            Target::Values(shape) => elements(shape),
            Target::Tokens(_) => elements(&self.input),
        }
    }

    /// Bytes of a sample in a batch, input and label.
    pub(super) fn bytes(&self) -> u128 {
        let width = |is_int: bool| if is_int { 8 } else { 4 };
        let (input, label) = (elements(&self.input), self.label_len());
        input as u128 * width(self.has_tokens()) + label as u128 * width(self.has_int_labels())
    }

    /// Whether labels are integers; otherwise they are floats.
    pub(super) fn has_int_labels(&self) -> bool {
        matches!(self.target, Target::Classes(_) | Target::Tokens(_))
    }

    /// Why samples of this kind do not match those of training.
    pub fn unlike(&self, train: &Self) -> Option<String> {
        if self.input != train.input {
            return Some(format!(
                "samples have shape {:?}, those of data.train {:?}",
                self.input, train.input
            ));
        }
        let classes = |target: &Target| match target {
            Target::Classes(count) | Target::Shares(count) => Some(*count),
            _ => None,
        };
        match (classes(&self.target), classes(&train.target)) {
            (Some(here), Some(there)) if here > there => {
                Some(format!("labels have {here} classes, those of data.train {there}"))
            }
            (Some(_), Some(_)) => None,
            _ if self.target == train.target => None,
            _ => Some(format!("labels are {}, those of data.train {}", self.target, train.target)),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Classes(count) => write!(out, "{count} classes"),
            Self::Shares(count) => write!(out, "shares of {count} classes"),
            Self::Values(shape) => write!(out, "numbers of shape {shape:?}"),
            Self::Tokens(count) => write!(out, "tokens of a vocabulary of {count}"),
        }
    }
}

/// The number of elements of a shape, saturating.
pub(super) fn elements(shape: &[i64]) -> usize {
    let sides = shape.iter().map(|side| usize::try_from(*side).unwrap_or(0));
    sides.fold(1, usize::saturating_mul)
}
