//! `hookrack keygen` and `hookrack sign`: signatures of libraries, in the format of minisign.

use super::exit::Failure;
use crate::plugins::trust::{key_id, signature_path};
use clap::Args;
use minisign::{KeyPair, PublicKeyBox, SecretKey, SecretKeyBox};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Create a key pair for signing plugins, in minisign's format
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack keygen team                  writes team.pub and team.key; prompts for a password
  hookrack keygen ci --no-password      for a machine that signs unattended"))]
pub(super) struct KeygenArgs {
    /// The name of the files, without .pub and .key
    name: PathBuf,

    /// Store the secret key without a password
    #[arg(long)]
    no_password: bool,
}

/// Sign plugin libraries: writes LIBRARY.minisig beside each
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack sign --key team.key plugins/*.so

`minisign -S -s team.key -m LIBRARY` does the same."))]
pub(super) struct SignArgs {
    /// The secret key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,

    /// The libraries
    #[arg(required = true)]
    libraries: Vec<PathBuf>,
}

pub(super) fn keygen(args: &KeygenArgs) -> Result<ExitCode, Failure> {
    let pair = if args.no_password {
        KeyPair::generate_unencrypted_keypair()
    } else {
        if !has_terminal() {
            let why = "there is no terminal to enter a password on: run `hookrack keygen` in one, or pass --no-password";
            return Err(Failure::usage(why));
        }
        KeyPair::generate_encrypted_keypair(None)
    };
    let pair = pair.map_err(Failure::usage)?;
    let (public, secret) = (with_end(&args.name, "pub"), with_end(&args.name, "key"));
    let text = pair.sk.to_box(None).map_err(Failure::usage)?.into_string();
    write_new(&secret, 0o600, &text)?;
    let text = pair.pk.to_box().map_err(Failure::usage)?.into_string();
    write_new(&public, 0o644, &text)?;
    say!("key {}", key_id(pair.pk.keynum()));
    say!("  {}  public key: add it to `plugins.trusted_keys`", public.display());
    say!("  {}  secret key: sign with `hookrack sign --key`", secret.display());
    Ok(ExitCode::SUCCESS)
}

pub(super) fn sign(args: &SignArgs) -> Result<ExitCode, Failure> {
    let key = secret_key(&args.key)?;
    for library in &args.libraries {
        let bytes = fs::read(library).map_err(|error| unreadable(library, &error))?;
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        let signed = minisign::sign(None, &key, io::Cursor::new(bytes), Some(&name), None);
        let signature = signature_path(library);
        let text = signed.map_err(Failure::usage)?.into_string();
        fs::write(&signature, text)
            .map_err(|error| Failure::could_not_write(&signature, &error))?;
        say!("{}  signed by {}", signature.display(), key_id(key.keynum()));
    }
    Ok(ExitCode::SUCCESS)
}

fn secret_key(path: &Path) -> Result<SecretKey, Failure> {
    let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    let boxed = || SecretKeyBox::from_string(&text);
    let plain = boxed().and_then(SecretKeyBox::into_unencrypted_secret_key);
    let shown = path.display();
    if plain.is_err() && is_public_key(&text) {
        let why = format!(
            "{shown} is a public key: sign with the secret key, NAME.key of `hookrack keygen NAME`"
        );
        return Err(Failure::usage(why));
    }
    // A key with a password asks for it on the terminal.
    let key = plain.or_else(|_| boxed()?.into_secret_key(None));
    key.map_err(|error| {
        let hint =
            if has_terminal() { "" } else { ": a password can be entered on a terminal only" };
        Failure::usage(format!("{shown} cannot be used: {error}{hint}"))
    })
}

fn is_public_key(text: &str) -> bool {
    PublicKeyBox::from_string(text).and_then(PublicKeyBox::into_public_key).is_ok()
}

/// Whether a password can be asked for: not in a batch job.
fn has_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}

fn with_end(name: &Path, end: &str) -> PathBuf {
    let mut path = name.as_os_str().to_owned();
    path.push(".");
    path.push(end);
    path.into()
}

/// An existing key is never replaced.
fn write_new(path: &Path, mode: u32, text: &str) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::could_not_write(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot read {}: {error}", path.display()))
}
