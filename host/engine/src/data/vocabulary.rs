//! What tokens stand for, and conversion of texts to tokens and back.

/// What tokens stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vocabulary<'a> {
    /// Bytes.
    Bytes,
    /// Characters, by their numbers.
    Chars(&'a [char]),
    /// Ids of an external tokenizer.
    Ids,
}

impl Vocabulary<'_> {
    /// The tokens of a text; for an external tokenizer, the text is a list of ids.
    ///
    /// # Errors
    /// The text is empty, or contains something that is not a token.
    pub fn encode(self, text: &str) -> Result<Vec<i64>, String> {
        let tokens = match self {
            Self::Bytes => text.bytes().map(i64::from).collect(),
            Self::Chars(known) => {
                text.chars().map(|character| place(known, character)).collect::<Result<_, _>>()?
            }
            Self::Ids => text.split_whitespace().map(id).collect::<Result<Vec<_>, _>>()?,
        };
        if tokens.is_empty() {
            return Err("the prompt is empty: pass at least one token".into());
        }
        Ok(tokens)
    }

    /// The text of tokens, as bytes: a row may end in the middle of a character.
    pub fn decode(self, tokens: &[i64]) -> Vec<u8> {
        match self {
            Self::Bytes => tokens.iter().filter_map(|token| u8::try_from(*token).ok()).collect(),
            Self::Chars(known) => {
                let known = |token: &i64| known.get(usize::try_from(*token).ok()?);
                tokens.iter().filter_map(known).collect::<String>().into_bytes()
            }
            Self::Ids => {
                let numbers: Vec<_> = tokens.iter().map(ToString::to_string).collect();
                numbers.join(" ").into_bytes()
            }
        }
    }
}

fn place(known: &[char], character: char) -> Result<i64, String> {
    let place = known.iter().position(|known| *known == character);
    let place = place.and_then(|place| i64::try_from(place).ok());
    place.ok_or_else(|| format!("{character:?} is not in the model's vocabulary"))
}

fn id(word: &str) -> Result<i64, String> {
    let id = word.parse::<i64>().ok().filter(|id| *id >= 0);
    id.ok_or_else(|| {
        format!("{word:?} is not a token id: the model was trained on ids, so pass ids separated by spaces")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_tokens_and_comes_back() {
        let known = Vocabulary::Chars(&['a', 'b', 'é']);
        assert_eq!(known.encode("béa"), Ok(vec![1, 2, 0]));
        assert_eq!(known.decode(&[1, 2, 0]), "béa".as_bytes());
        assert!(known.encode("c").unwrap_err().contains("'c'"));
        assert!(Vocabulary::Bytes.encode("").unwrap_err().contains("empty"));
        assert_eq!(Vocabulary::Bytes.encode("é"), Ok(vec![0xC3, 0xA9]));
        assert_eq!(Vocabulary::Bytes.decode(&[0xC3, 0xA9]), "é".as_bytes());
    }

    #[test]
    fn where_only_a_tokenizer_knows_the_text_numbers_go_in_and_come_out() {
        assert_eq!(Vocabulary::Ids.encode(" 50256 0\n7"), Ok(vec![50_256, 0, 7]));
        assert_eq!(Vocabulary::Ids.decode(&[50_256, 0, 7]), b"50256 0 7");
        assert!(
            Vocabulary::Ids.encode("Once upon").unwrap_err().contains("\"Once\" is not a token id")
        );
        assert!(Vocabulary::Ids.encode("3 -1").is_err());
        assert!(Vocabulary::Ids.encode(" ").unwrap_err().contains("empty"));
    }
}
