//! Reading doc comments and `key = value` attributes.

use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, Lit, Meta, Result, Token};

/// The first paragraph of a doc comment, joined into one line.
pub(crate) fn doc_line(attrs: &[Attribute]) -> String {
    let mut words = Vec::new();
    for attr in attrs.iter().filter(|a| a.path().is_ident("doc")) {
        let Meta::NameValue(meta) = &attr.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.value else { continue };
        let line = text.value();
        if line.trim().is_empty() && !words.is_empty() {
            break;
        }
        words.extend(line.split_whitespace().map(str::to_owned));
    }
    words.join(" ")
}

/// Every entry inside the attributes called `name`: `#[serde(a, b = "c")]` gives `a` and `b = "c"`.
pub(crate) fn entries(attrs: &[Attribute], name: &str) -> Result<Vec<Meta>> {
    let mut all = Vec::new();
    for attr in attrs.iter().filter(|a| a.path().is_ident(name)) {
        all.extend(attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?);
    }
    Ok(all)
}

/// The string of `key = "string"` among `entries`.
pub(crate) fn text_of(entries: &[Meta], key: &str) -> Option<String> {
    texts_of(entries, key).next()
}

/// The string of each `key = "string"` among `entries`.
pub(crate) fn texts_of(entries: &[Meta], key: &str) -> impl Iterator<Item = String> {
    entries.iter().filter_map(move |meta| match meta {
        Meta::NameValue(pair) if pair.path.is_ident(key) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

/// The expression of `key = expression` among `entries`.
pub(crate) fn expr_of<'a>(entries: &'a [Meta], key: &str) -> Option<&'a Expr> {
    entries.iter().find_map(|meta| match meta {
        Meta::NameValue(pair) if pair.path.is_ident(key) => Some(&pair.value),
        _ => None,
    })
}

/// Whether the bare word `key` is among `entries`.
pub(crate) fn has_word(entries: &[Meta], key: &str) -> bool {
    entries.iter().any(|meta| matches!(meta, Meta::Path(path) if path.is_ident(key)))
}

/// Refuses an entry whose key is not one of `known`.
pub(crate) fn check_keys(entries: &[Meta], known: &[&str]) -> Result<()> {
    let unknown = entries.iter().find(|meta| !known.iter().any(|key| meta.path().is_ident(key)));
    let Some(meta) = unknown else { return Ok(()) };
    let (last, others) = known.split_last().unwrap_or((&"nothing", &[]));
    let expected = match others {
        [] => (*last).to_owned(),
        others => format!("{} or {last}", others.join(", ")),
    };
    let found = meta.path().get_ident().map(|key| format!("unknown key `{key}`: "));
    Err(Error::new_spanned(meta, format!("{}expected {expected}", found.unwrap_or_default())))
}

/// Refuses `key = value` if the value is not a string.
pub(crate) fn check_texts(entries: &[Meta], keys: &[&str]) -> Result<()> {
    for meta in entries {
        let Some(key) = keys.iter().find(|key| meta.path().is_ident(key)) else { continue };
        if text_of(std::slice::from_ref(meta), key).is_none() {
            return Err(Error::new_spanned(meta, format!("expected a string: {key} = \"…\"")));
        }
    }
    Ok(())
}
