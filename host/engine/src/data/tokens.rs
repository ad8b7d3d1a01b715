//! `Tokens`: token ids saved by NumPy as rows of tokens, each labeled with the next token.

use std::path::PathBuf;

use hookrack_plugin_api::prelude::Settings;

use super::array::Array;
use super::file_bytes::FileBytes;
use super::windows::{Windows, part};
use super::{DataSpec, Dataset, SampleBuffer, Split, Target, Vocabulary, npy, npy_file, size};
use crate::error::{EngineError, Result};
use crate::registry::Component;

/// Token ids of a tokenizer, saved by NumPy and split into rows; the label of each token is the next one.
#[derive(Debug, Clone, Settings)]
pub struct TokensSettings {
    /// A file written by `numpy.save` (memory-mapped) or `numpy.savez` (loaded into memory): integers of any type, one sequence
    /// `[tokens]` or several texts `[texts, tokens]`; a row never spans two texts.
    pub path: PathBuf,
    /// Name of the array in an archive of `numpy.savez`. Default: the only one.
    pub array: Option<String>,
    /// Tokens per row.
    #[param(min = 1)]
    pub context: usize,
    /// Distance between the starts of two rows. Default: `context`, so that rows do not overlap.
    #[param(min = 1)]
    pub stride: Option<usize>,
    /// Vocabulary size; ids start at 0. Default: one more than the largest id in the file.
    #[param(min = 1)]
    pub vocab: Option<i64>,
    /// Which part of the tokens, or of the texts, to use.
    #[param(default = Split::All)]
    pub split: Split,
    /// Fraction at the end that is used for validation.
    #[param(default = 0.1, min = 0.0, max = 1.0)]
    pub val_share: f64,
}

impl Component<(), dyn Dataset> for TokensSettings {
    const NAME: &'static str = "Tokens";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(Tokens::open(&self)?))
    }
}

/// The rows of one part of an array of token ids.
#[derive(Debug)]
pub struct Tokens {
    ids: Array,
    vocab: i64,
    // The number of ids in a text, and the first id of this part.
    text: usize,
    first_text: usize,
    texts: usize,
    windows: Windows,
}

impl Tokens {
    /// Opens the file, checks every id and finds the rows of the requested part.
    pub fn open(settings: &TokensSettings) -> Result<Self> {
        let file = FileBytes::open(&settings.path)?;
        let ids = match (npy::is_archive(&file), &settings.array) {
            (true, Some(name)) => npy::member(&file, name)?,
            (true, None) => npy::member(&file, &npy::only_name(&file)?)?,
            (false, None) => npy_file::array(file)?,
            (false, Some(name)) => {
                let why = format!("array = {name:?}, but the file is not a numpy.savez archive");
                return Err(file.wrong(0, why));
            }
        };
        if !ids.number.is_int() {
            return Err(ids.wrong_number(0, "tokens must be integers, not floats"));
        }
        let TokensSettings { split, val_share, context, stride, .. } = *settings;
        let (text, texts, place) = match ids.sides[..] {
            [len] => (len, 0..1, part(len, split, val_share)),
            [texts, len] => (len, part(texts, split, val_share), 0..len),
            _ => {
                let why = format!(
                    "tokens of shape {:?}: expected [tokens] or [texts, tokens]",
                    ids.sides
                );
                return Err(ids.wrong_number(0, &why));
            }
        };
        if texts.is_empty() {
            let why = format!("{}: no text is in this part", settings.path.display());
            return Err(EngineError::Data(why));
        }
        let windows = Windows::cut(&place, context, stride)
            .map_err(|why| EngineError::Data(format!("{}: {why}", settings.path.display())))?;
        let vocab = vocabulary(&ids, settings.vocab)?;
        Ok(Self { ids, vocab, text, first_text: texts.start, texts: texts.len(), windows })
    }
}

/// The vocabulary size. Checks every id, unless its type cannot hold an invalid one.
fn vocabulary(ids: &Array, wanted: Option<i64>) -> Result<i64> {
    if let (Some(wanted), Some(largest)) = (wanted, ids.number.unsigned_max())
        && wanted > largest
    {
        return Ok(wanted);
    }
    let all = || ids.ints(0..ids.numbers());
    let vocab = wanted.unwrap_or_else(|| all().max().unwrap_or(0).saturating_add(1));
    let wrong = all().enumerate().find(|(_, id)| !(0..vocab).contains(id));
    ids.check()?;
    match wrong {
        None => Ok(vocab),
        Some((place, id)) => {
            let why = format!("token {id} at position {place} is not one of 0 to {}", vocab - 1);
            Err(ids.wrong_number(place, &why))
        }
    }
}

impl Dataset for Tokens {
    fn len(&self) -> usize {
        self.texts * self.windows.len()
    }

    fn spec(&self) -> DataSpec {
        let input = vec![size(self.windows.context)];
        DataSpec { input, target: Target::Tokens(self.vocab) }
    }

    fn vocabulary(&self) -> Vocabulary<'_> {
        Vocabulary::Ids
    }

    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        let text = (self.first_text + index / self.windows.len()) * self.text;
        let (row, next) = self.windows.at(index % self.windows.len());
        sample.tokens(self.ids.ints(text + row.start..text + row.end));
        sample.following(self.ids.ints(text + next.start..text + next.end));
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.ids.check()
    }
}

#[cfg(test)]
mod tests {
    //! The files are what NumPy wrote: `scripts/golden/arrays.py`.

    use super::*;

    fn open(
        name: &str,
        change: impl FnOnce(&mut TokensSettings),
    ) -> std::result::Result<Tokens, String> {
        let folder = format!("{}/src/data/golden/", env!("CARGO_MANIFEST_DIR"));
        let mut settings = TokensSettings {
            path: PathBuf::from(format!("{folder}{name}")),
            array: None,
            context: 4,
            stride: None,
            vocab: None,
            split: Split::All,
            val_share: 0.25,
        };
        change(&mut settings);
        Tokens::open(&settings).map_err(|error| error.to_string().replace(&folder, ""))
    }

    fn row(tokens: &Tokens, index: usize) -> (Vec<i64>, Vec<i64>) {
        let batch = tokens.batch(&[index]).unwrap();
        assert_eq!(batch.input.size(), [1, 4]);
        (Vec::try_from(batch.input.get(0)).unwrap(), Vec::try_from(batch.label.get(0)).unwrap())
    }

    /// 0, 7, 14, … of 17, thirteen of them, in every type that NumPy has for whole numbers.
    #[test]
    fn ids_of_every_type_are_the_same_tokens_with_the_next_one_for_a_label() {
        for kind in ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"] {
            let tokens = open(&format!("tokens_{kind}.npy"), |_| ()).unwrap();
            assert_eq!(tokens.spec(), DataSpec { input: vec![4], target: Target::Tokens(17) });
            assert_eq!(tokens.len(), 3, "the last id is only a label");
            assert_eq!(row(&tokens, 1), (vec![11, 1, 8, 15], vec![1, 8, 15, 5]), "{kind}");
        }
        let tokens = open("tokens_u2.npy", |settings| settings.stride = Some(1)).unwrap();
        assert_eq!((tokens.len(), row(&tokens, 8).1), (9, vec![12, 2, 9, 16]));
    }

    #[test]
    fn what_is_held_out_is_the_end() {
        let part = |split| open("tokens_i4.npy", |settings| settings.split = split);
        assert_eq!(part(Split::Train).unwrap().len(), 2);
        let error = part(Split::Val).unwrap_err();
        assert!(error.ends_with("3 tokens in this part of the text are too few for a row of context = 4 and the token after it"), "{error}");
    }

    #[test]
    fn no_row_crosses_the_end_of_a_text_and_texts_are_held_out_whole() {
        let texts = open("tokens.npz", |settings| settings.array = Some("texts".into())).unwrap();
        // Four texts of six tokens, 10 · text + place; of each one row of four and one token over.
        assert_eq!(
            (texts.len(), row(&texts, 2)),
            (4, (vec![20, 21, 22, 23], vec![21, 22, 23, 24]))
        );
        let val = open("tokens.npz", |settings| {
            settings.array = Some("texts".into());
            (settings.split, settings.stride) = (Split::Val, Some(1));
        });
        let val = val.unwrap();
        assert_eq!((val.len(), row(&val, 1).0), (2, vec![31, 32, 33, 34]));
        assert_eq!(
            val.spec().target,
            Target::Tokens(36),
            "the vocabulary is the file's, not the part's"
        );
    }

    #[test]
    fn an_id_out_of_range_is_reported_with_file_position_and_id() {
        let error = |name: &str, vocab| open(name, |settings| settings.vocab = Some(vocab));
        assert_eq!(
            error("tokens_u2.npy", 16).unwrap_err(),
            "data: tokens_u2.npy, byte 152: token 16 at position 12 is not one of 0 to 15"
        );
        assert_eq!(
            error("tokens_negative.npy", 16).unwrap_err(),
            "data: tokens_negative.npy, byte 144: token -1 at position 2 is not one of 0 to 15"
        );
        let unset = open("tokens_negative.npy", |_| ()).unwrap_err();
        assert!(unset.contains("token -1 at position 2"), "{unset}");
        // Nothing that 16 bits hold is out of range.
        assert_eq!(error("tokens_u2.npy", 65_536).unwrap().spec().target, Target::Tokens(65_536));
    }

    #[test]
    fn what_holds_no_tokens_is_reported() {
        let error = |name: &str| open(name, |_| ()).unwrap_err();
        assert_eq!(
            error("x_f4.npy"),
            "data: x_f4.npy, byte 128: tokens must be integers, not floats"
        );
        assert_eq!(
            error("tokens.npz"),
            "data: tokens.npz, byte 0: several arrays, ids, texts: choose one with `array`"
        );
        assert_eq!(
            error("x_u1.npy"),
            "data: x_u1.npy, byte 128: tokens of shape [3, 2, 2]: expected [tokens] or [texts, tokens]"
        );
        let named = open("tokens_u2.npy", |settings| settings.array = Some("x".into()));
        assert!(named.unwrap_err().contains("the file is not a numpy.savez archive"));
    }
}
