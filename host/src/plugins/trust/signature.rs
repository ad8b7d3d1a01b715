//! Detached signatures in the format of minisign: `libema.so.minisig` beside `libema.so`.

use super::super::loader::{Image, read_text};
use minisign::{PublicKey, PublicKeyBox, SignatureBox};
use std::ffi::OsString;
use std::fmt;
use std::fmt::Write as _;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

/// What the name of a signature has after that of its file.
const SIGNATURE_SUFFIX: &str = ".minisig";

/// The keys whose signatures count.
#[derive(Debug, Default)]
pub struct PublicKeys(Vec<PublicKey>);

/// A trusted key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the trusted key {} cannot be used: {why}", .file.display())]
pub struct KeyError {
    file: PathBuf,
    why: String,
}

/// Why a signature does not verify a library.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SignatureError {
    #[error(
        "{} was made by key {key}, which is not trusted (trusted: {trusted}): \
         add the key to `plugins.trusted_keys`, or remove the signature",
        .signature.display()
    )]
    UnknownKey { signature: PathBuf, key: String, trusted: String },
    #[error(
        "{} by key {key} does not match the file: one of the two was changed since; sign it again",
        .signature.display()
    )]
    Mismatch { signature: PathBuf, key: String },
    #[error("{} is not a signature of minisign: {why}", .signature.display())]
    Unreadable { signature: PathBuf, why: String },
}

/// The id of a key as minisign prints it.
pub fn key_id(number: &[u8]) -> String {
    number.iter().rev().fold(String::new(), |mut id, byte| {
        let _ = write!(id, "{byte:02X}");
        id
    })
}

/// The digits of the signature of a file (74 bytes with algorithm and key) and of that of the trusted comment (64 bytes), in base64.
const SIGNATURE_DIGITS: usize = 100;
const GLOBAL_DIGITS: usize = 88;

/// Whether both signatures are as long as they must be. `minisign` panics on a shorter second one.
fn has_whole_signatures(text: &str) -> bool {
    let line = |at: usize| text.lines().nth(at).unwrap_or_default().trim();
    let global = line(3);
    line(1).len() == SIGNATURE_DIGITS && global.len() == GLOBAL_DIGITS && global.ends_with("==")
}

impl PublicKeys {
    /// Reads the files of public keys.
    ///
    /// # Errors
    /// One of them has no key.
    pub fn read(files: &[PathBuf]) -> Result<Self, KeyError> {
        let read = |file: &PathBuf| {
            let refused =
                |why: &dyn fmt::Display| KeyError { file: file.clone(), why: why.to_string() };
            let text = read_text(file).map_err(|why| refused(&why))?;
            let boxed = PublicKeyBox::from_string(&text);
            boxed.and_then(PublicKeyBox::into_public_key).map_err(|why| refused(&why))
        };
        files.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// The id of the trusted key that signed a library; nothing where it has no signature or no key is trusted.
    pub(super) fn signer(&self, image: &Image) -> Result<Option<String>, SignatureError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let path = signature_path(&image.path);
        let unreadable = |why: String| SignatureError::Unreadable { signature: path.clone(), why };
        let text = match read_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        if !has_whole_signatures(&text) {
            return Err(unreadable("a signature in it is too short or too long".to_owned()));
        }
        let signature = SignatureBox::from_string(&text);
        let signature = signature.map_err(|error| unreadable(error.to_string()))?;
        // Blanks, and lines behind the signatures, are not signed: nobody but the signer adds to the file.
        if signature.to_string().trim_end_matches('\n') != text.trim_end_matches('\n') {
            return Err(unreadable("it has text that minisign does not write".to_owned()));
        }
        let key = key_id(signature.keynum());
        let Some(trusted) = self.0.iter().find(|known| known.keynum() == signature.keynum()) else {
            let ids: Vec<_> = self.0.iter().map(|known| key_id(known.keynum())).collect();
            let trusted = ids.join(", ");
            return Err(SignatureError::UnknownKey { signature: path, key, trusted });
        };
        let bytes = Cursor::new(&image.bytes);
        match minisign::verify(trusted, &signature, bytes, true, false, false) {
            Ok(()) => Ok(Some(key)),
            Err(_) => Err(SignatureError::Mismatch { signature: path, key }),
        }
    }
}

/// Where the signature of a file is.
pub fn signature_path(file: &Path) -> PathBuf {
    let mut path = OsString::from(file);
    path.push(SIGNATURE_SUFFIX);
    path.into()
}
