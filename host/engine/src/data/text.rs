//! `Text`: a text file as rows of tokens, each labeled with the next token.

use std::path::{Path, PathBuf};

use hookrack_plugin_api::prelude::Settings;

use super::file_bytes::FileBytes;
use super::windows::{Windows, part};
use super::{DataSpec, Dataset, SampleBuffer, Split, Target, Vocabulary, size};
use crate::error::{EngineError, Result};
use crate::registry::Component;

/// A text split into rows of tokens; the label of each token is the next one.
#[derive(Debug, Clone, Settings)]
pub struct TextSettings {
    /// The file, plain or gzipped.
    pub path: PathBuf,
    /// Tokens per row.
    #[param(min = 1)]
    pub context: usize,
    /// Distance between the starts of two rows. Default: `context`, so that rows do not overlap.
    #[param(min = 1)]
    pub stride: Option<usize>,
    /// Unit of a token: a byte (256 values), or a character of the vocabulary.
    #[param(default = Unit::Bytes)]
    pub unit: Unit,
    /// File whose characters are the vocabulary. Default: the whole text itself.
    pub vocabulary: Option<PathBuf>,
    /// Which part of the text to use.
    #[param(default = Split::All)]
    pub split: Split,
    /// Fraction at the end of the text that is used for validation.
    #[param(default = 0.1, min = 0.0, max = 1.0)]
    pub val_share: f64,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub enum Unit {
    /// One of 256 bytes.
    Bytes,
    /// A character.
    Chars,
}

impl Component<(), dyn Dataset> for TextSettings {
    const NAME: &'static str = "Text";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        if self.unit == Unit::Bytes && self.vocabulary.is_some() {
            return Err(Self::refuse("vocabulary requires unit = \"chars\": bytes are always 256"));
        }
        Ok(Box::new(Text::open(&self)?))
    }
}

/// The tokens of a text.
#[derive(Debug)]
enum Tokens {
    /// The file itself.
    Bytes(FileBytes),
    /// Numbers of characters in the vocabulary.
    Chars(Vec<u32>),
}

/// The rows of one part of a text.
#[derive(Debug)]
pub struct Text {
    tokens: Tokens,
    vocabulary: Vec<char>,
    windows: Windows,
}

impl Text {
    /// Opens the file and finds the rows of the requested part.
    pub fn open(settings: &TextSettings) -> Result<Self> {
        let file = FileBytes::open(&settings.path)?;
        let (tokens, vocabulary) = match settings.unit {
            Unit::Bytes => (Tokens::Bytes(file), Vec::new()),
            Unit::Chars => characters(&file, settings.vocabulary.as_deref())?,
        };
        let len = match &tokens {
            Tokens::Bytes(bytes) => bytes.len(),
            Tokens::Chars(chars) => chars.len(),
        };
        let part = part(len, settings.split, settings.val_share);
        let windows = Windows::cut(&part, settings.context, settings.stride)
            .map_err(|why| EngineError::Data(format!("{}: {why}", settings.path.display())))?;
        Ok(Self { tokens, vocabulary, windows })
    }
}

fn characters(file: &FileBytes, vocabulary: Option<&Path>) -> Result<(Tokens, Vec<char>)> {
    let text = utf8(file)?;
    let known = match vocabulary {
        Some(path) => distinct(utf8(&FileBytes::open(path)?)?),
        None => distinct(text),
    };
    let mut tokens = Vec::with_capacity(text.len());
    for (offset, character) in text.char_indices() {
        let number = known.binary_search(&character).map_err(|_| {
            file.wrong(
                offset,
                format!("{character:?} is not in the vocabulary of {} characters", known.len()),
            )
        })?;
        tokens.push(u32::try_from(number).unwrap_or(u32::MAX));
    }
    Ok((Tokens::Chars(tokens), known))
}

fn utf8(file: &FileBytes) -> Result<&str> {
    std::str::from_utf8(file).map_err(|error| {
        file.wrong(error.valid_up_to(), "not UTF-8: convert the file, or use unit = \"bytes\"")
    })
}

/// Distinct characters in the order of their code points.
fn distinct(text: &str) -> Vec<char> {
    text.chars().collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

impl Dataset for Text {
    fn len(&self) -> usize {
        self.windows.len()
    }

    fn spec(&self) -> DataSpec {
        let vocabulary = match self.tokens {
            Tokens::Bytes(_) => 256,
            Tokens::Chars(_) => size(self.vocabulary.len()),
        };
        DataSpec { input: vec![size(self.windows.context)], target: Target::Tokens(vocabulary) }
    }

    fn vocabulary(&self) -> Vocabulary<'_> {
        match self.tokens {
            Tokens::Bytes(_) => Vocabulary::Bytes,
            Tokens::Chars(_) => Vocabulary::Chars(&self.vocabulary),
        }
    }

    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        let (row, next) = self.windows.at(index);
        match &self.tokens {
            Tokens::Bytes(bytes) => {
                sample.tokens(bytes[row].iter().copied().map(i64::from));
                sample.following(bytes[next].iter().copied().map(i64::from));
            }
            Tokens::Chars(chars) => {
                sample.tokens(chars[row].iter().copied().map(i64::from));
                sample.following(chars[next].iter().copied().map(i64::from));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        match &self.tokens {
            Tokens::Bytes(file) => file.check(),
            Tokens::Chars(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(
        text: &[u8],
        change: impl FnOnce(&mut TextSettings),
    ) -> std::result::Result<Text, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, text).unwrap();
        let (unit, split) = (Unit::Bytes, Split::All);
        let mut settings = TextSettings {
            path,
            context: 4,
            stride: None,
            unit,
            vocabulary: None,
            split,
            val_share: 0.25,
        };
        change(&mut settings);
        let shown = format!("{}/", folder.path().display());
        Text::open(&settings).map_err(|error| error.to_string().replace(&shown, ""))
    }

    fn row(text: &Text, index: usize) -> (Vec<i64>, Vec<i64>) {
        let batch = text.batch(&[index]).unwrap();
        assert_eq!(batch.input.size(), [1, 4]);
        (Vec::try_from(batch.input.get(0)).unwrap(), Vec::try_from(batch.label.get(0)).unwrap())
    }

    #[test]
    fn each_token_has_the_next_one_for_a_label() {
        let text = open(&(0..=12).collect::<Vec<u8>>(), |_| ()).unwrap();
        assert_eq!(text.spec(), DataSpec { input: vec![4], target: Target::Tokens(256) });
        assert_eq!(text.len(), 3, "the last byte is only a label");
        assert_eq!(row(&text, 2), (vec![8, 9, 10, 11], vec![9, 10, 11, 12]));
        let text = open(&(0..=12).collect::<Vec<u8>>(), |s| s.stride = Some(1)).unwrap();
        assert_eq!((text.len(), row(&text, 8).0), (9, vec![8, 9, 10, 11]));
    }

    #[test]
    fn what_is_held_out_is_the_end() {
        let bytes: Vec<u8> = (0..100).collect();
        let part = |split| open(&bytes, |settings| settings.split = split).unwrap();
        let (train, val) = (part(Split::Train), part(Split::Val));
        assert_eq!((train.len(), val.len(), row(&val, 0).0[0]), (18, 6, 75));
        assert!(row(&train, 17).1[3] < 75);
    }

    #[test]
    fn characters_are_numbered_in_order() {
        let text = open("été à été".as_bytes(), |settings| settings.unit = Unit::Chars).unwrap();
        assert_eq!(text.vocabulary(), Vocabulary::Chars(&[' ', 't', 'à', 'é']));
        assert_eq!(text.spec().target, Target::Tokens(4));
        assert_eq!(row(&text, 0), (vec![3, 1, 3, 0], vec![1, 3, 0, 2]));
    }

    #[test]
    fn what_cannot_be_read_is_reported_with_the_byte() {
        let chars = |settings: &mut TextSettings| settings.unit = Unit::Chars;
        assert_eq!(
            open(b"abc\xffdefgh", chars).unwrap_err(),
            "data: text, byte 3: not UTF-8: convert the file, or use unit = \"bytes\""
        );
        let vocabulary = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(vocabulary.path(), "abcd").unwrap();
        let error = open(b"abcabcxab", |settings| {
            settings.unit = Unit::Chars;
            settings.vocabulary = Some(vocabulary.path().to_owned());
        });
        assert_eq!(
            error.unwrap_err(),
            "data: text, byte 6: 'x' is not in the vocabulary of 4 characters"
        );
        assert_eq!(
            open(b"abcd", |_| ()).unwrap_err(),
            "data: text: 4 tokens in this part of the text are too few for a row of context = 4 and the token after it"
        );
    }
}
