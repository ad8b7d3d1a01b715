//! One field of a settings struct: its attributes, and the code generated from them.

use super::{Dialect, no_serde, refuse_undescribed};
use crate::attributes::{check_keys, doc_line, entries, expr_of, has_word, text_of, texts_of};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{Error, Expr, ExprLit, Field, Ident, Lit, LitStr, Meta, Path, Result, Type};

/// The keys of `#[param(…)]`.
const KEYS: [&str; 10] =
    ["default", "min", "max", "name", "alias", "check", "monitor", "skip", "state", "flatten"];

/// Where a field's value comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueSource {
    /// A key of the config.
    Key,
    /// Nowhere: an internal field of the hook.
    Skipped,
    /// Its own fields are keys of the same table.
    Flattened,
}

/// The value of a key that is missing in the config.
enum Default {
    /// None: the key is required, unless its type is an `Option`.
    Missing,
    /// The value of an expression.
    Value(TokenStream),
    /// The result of the author's function: its path as written, and parsed.
    Function(String, Path),
}

/// One field, as read from its attributes.
pub(super) struct FieldSpec<'a> {
    pub(super) ident: &'a Ident,
    pub(super) source: ValueSource,
    ty: &'a Type,
    /// Saved in checkpoints.
    pub(super) is_state: bool,
    pub(super) key: String,
    aliases: Vec<String>,
    doc: String,
    default: Default,
    min: Option<Expr>,
    max: Option<Expr>,
    check: Option<Expr>,
    is_monitor: bool,
    /// The serde attributes of the twin's field, except the default.
    serde: Vec<Meta>,
}

impl<'a> FieldSpec<'a> {
    pub(super) fn read(field: &'a Field, dialect: Dialect) -> Result<Self> {
        let Some(ident) = &field.ident else {
            return Err(Error::new_spanned(field, "settings need named fields"));
        };
        let param = entries(&field.attrs, "param")?;
        if dialect == Dialect::Settings {
            no_serde(&field.attrs)?;
            check_param(&param)?;
        }
        refuse_undescribed(&field.attrs, &["with", "deserialize_with"])?;
        if dialect == Dialect::Deserialize && has_word(&param, "state") {
            let why = "`#[param(state)]` belongs to `#[derive(Settings)]`";
            return Err(Error::new_spanned(field, why));
        }
        let serde = match dialect {
            Dialect::Settings => serde_of_param(&param),
            Dialect::Deserialize => entries(&field.attrs, "serde")?,
        };
        let source = if has_word(&serde, "skip") || has_word(&serde, "skip_deserializing") {
            ValueSource::Skipped
        } else if has_word(&serde, "flatten") {
            ValueSource::Flattened
        } else {
            ValueSource::Key
        };
        // `r#type` is the key `type`, as in serde.
        let key = text_of(&serde, "rename").unwrap_or_else(|| ident.unraw().to_string());
        Ok(Self {
            ident,
            source,
            ty: &field.ty,
            is_state: has_word(&param, "state"),
            key,
            aliases: texts_of(&serde, "alias").collect(),
            doc: doc_line(&field.attrs),
            default: default_of(&field.ty, &param, &serde, source)?,
            min: expr_of(&param, "min").cloned(),
            max: expr_of(&param, "max").cloned(),
            check: expr_of(&param, "check").cloned(),
            is_monitor: has_word(&param, "monitor"),
            serde: serde.into_iter().filter(|meta| !meta.path().is_ident("default")).collect(),
        })
    }

    /// The twin's field, with its serde attributes.
    pub(super) fn twin(&self) -> TokenStream {
        let Self { ident, ty, serde, .. } = self;
        let default = match &self.default {
            Default::Missing => None,
            Default::Value(_) => Some(self.default_name().to_string()),
            Default::Function(written, _) => Some(written.clone()),
        };
        let default = default.map(|name| quote!(default = #name));
        let said = serde.iter().map(ToTokens::to_token_stream).chain(default);
        quote!(#[serde(#(#said),*)] #ident: #ty)
    }

    fn default_name(&self) -> Ident {
        format_ident!("default_{}", self.ident.unraw())
    }

    /// The function that returns the field's default, if the default is an expression.
    pub(super) fn default_fn(&self) -> Option<TokenStream> {
        let (name, ty) = (self.default_name(), self.ty);
        match &self.default {
            Default::Value(value) => Some(quote!(fn #name() -> #ty { #value })),
            _ => None,
        }
    }

    /// The field's value in an empty table; `None` if it is required, or its type alone knows.
    pub(super) fn omitted(&self) -> Option<TokenStream> {
        match (&self.default, self.source) {
            (Default::Value(_), _) => {
                let name = self.default_name();
                Some(quote!(#name()))
            }
            (Default::Function(_, path), _) => Some(quote!(#path())),
            (Default::Missing, ValueSource::Skipped) => {
                Some(quote!(::core::default::Default::default()))
            }
            (Default::Missing, ValueSource::Key) if is_option(self.ty) => {
                Some(quote!(::core::option::Option::None))
            }
            (Default::Missing, _) => None,
        }
    }

    /// Calls the function of `#[param(check = …)]` with the value, if there is one.
    pub(super) fn check(&self) -> Option<TokenStream> {
        let Self { ident, key, .. } = self;
        self.check.as_ref().map(|check| {
            quote! {
                if let ::core::result::Result::Err(why) = (#check)(&twin.#ident) {
                    return ::core::result::Result::Err(<D::Error as api::serde::de::Error>::custom(
                        ::std::format!("{}: {}", #key, why),
                    ));
                }
            }
        })
    }

    /// A statement that pushes the field's description onto `params`.
    pub(super) fn describe(&self) -> TokenStream {
        let Self { ty, key, doc, aliases, .. } = self;
        match self.source {
            ValueSource::Skipped => return TokenStream::new(),
            ValueSource::Flattened => {
                return quote!(params.extend(<#ty as api::Describe>::params()););
            }
            ValueSource::Key => {}
        }
        let presence = self.presence();
        let (min, max) = (self.bound(self.min.as_ref(), 0), self.bound(self.max.as_ref(), 1));
        let naming = self.is_monitor.then(|| quote!(.naming_scalars()));
        quote! {
            params.push(api::Param {
                name: ::std::string::String::from(#key),
                aliases: ::std::vec![#(::std::string::String::from(#aliases)),*],
                doc: ::std::string::String::from(#doc),
                ty: (&&&api::Ask::<#ty>::new()).param_type() #naming,
                presence: #presence,
                min: #min,
                max: #max,
            });
        }
    }

    fn presence(&self) -> TokenStream {
        let ty = self.ty;
        let default = match &self.default {
            Default::Missing => {
                return quote!(if (&&&api::Ask::<#ty>::new()).optional() { api::Presence::Optional } else { api::Presence::Required });
            }
            Default::Value(_) => self.default_name().into(),
            Default::Function(_, path) => path.clone(),
        };
        quote! {
            match (&&&api::Ask::<#ty>::new()).to_value(&#default()) {
                ::core::option::Option::Some(value) => api::Presence::Default(value),
                ::core::option::Option::None => api::Presence::Optional,
            }
        }
    }

    /// The limit in the attribute, or that of the type.
    fn bound(&self, written: Option<&Expr>, end: usize) -> TokenStream {
        let (ty, end) = (self.ty, syn::Index::from(end));
        written.map_or(
            quote!((&&&api::Ask::<#ty>::new()).range().#end),
            |bound| quote!(::core::option::Option::Some((#bound) as f64)),
        )
    }

    /// A statement that pushes the field's value onto `fields`, for a struct that is itself a default.
    pub(super) fn value(&self) -> TokenStream {
        let Self { ident, ty, key, .. } = self;
        match self.source {
            ValueSource::Skipped => TokenStream::new(),
            ValueSource::Flattened => quote! {
                if let ::core::option::Option::Some(api::Value::Table(inner)) = api::Setting::to_value(&self.#ident) {
                    fields.extend(inner);
                }
            },
            ValueSource::Key => quote! {
                if let ::core::option::Option::Some(value) = (&&&api::Ask::<#ty>::new()).to_value(&self.#ident) {
                    fields.push((::std::string::String::from(#key), value));
                }
            },
        }
    }
}

/// Whether a type is written as an `Option`.
fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Option"))
}

/// Checks the `#[param(…)]` of a field of `#[derive(Settings)]`.
fn check_param(param: &[Meta]) -> Result<()> {
    check_keys(param, &KEYS)?;
    for meta in param {
        let is_text = matches!(meta, Meta::NameValue(pair)
            if matches!(&pair.value, Expr::Lit(ExprLit { lit: Lit::Str(_), .. })));
        let is_word = matches!(meta, Meta::Path(_));
        let name = meta.path().require_ident()?.to_string();
        let wanted = match name.as_str() {
            "name" | "alias" if !is_text => format!("expected {name} = \"key\""),
            "skip" | "state" | "flatten" | "monitor" if !is_word => {
                format!("`{name}` takes no value")
            }
            "min" | "max" | "check" if is_word => format!("expected {name} = …"),
            _ => continue,
        };
        return Err(Error::new_spanned(meta, wanted));
    }
    for place in ["skip", "state", "flatten"] {
        if let Some(other) = param.iter().find(|meta| !meta.path().is_ident(place))
            && has_word(param, place)
        {
            let why = match place {
                "skip" => "a skipped field is not a setting: it starts as `Default::default()`",
                "state" => "a saved field is not a setting: it starts as `Default::default()`",
                _ => {
                    "a flattened field has no key of its own: set this on the fields of its struct"
                }
            };
            return Err(Error::new_spanned(other, why));
        }
    }
    Ok(())
}

/// The equivalent serde attributes, for the twin.
fn serde_of_param(param: &[Meta]) -> Vec<Meta> {
    let mut serde = Vec::new();
    for meta in param {
        let path = meta.path();
        if path.is_ident("skip") || path.is_ident("flatten") || path.is_ident("alias") {
            serde.push(meta.clone());
        } else if path.is_ident("state") {
            serde.push(Meta::Path(Ident::new("skip", Span::call_site()).into()));
        } else if path.is_ident("name")
            && let Meta::NameValue(pair) = meta
        {
            let mut rename = pair.clone();
            rename.path = Ident::new("rename", Span::call_site()).into();
            serde.push(Meta::NameValue(rename));
        }
    }
    serde
}

/// The default of a field: `#[param(default = …)]`, a bare `#[param(default)]`, or serde's `default`. A missing table of settings
/// has the same defaults as an empty one.
fn default_of(ty: &Type, param: &[Meta], serde: &[Meta], source: ValueSource) -> Result<Default> {
    let own = expr_of(param, "default");
    let is_bare = has_word(param, "default");
    let function = text_of(serde, "default");
    if (own.is_some() || is_bare) && (function.is_some() || has_word(serde, "default")) {
        let at = param.iter().find(|meta| meta.path().is_ident("default"));
        return Err(Error::new_spanned(
            at,
            "this field already has a default by `#[serde(default)]`",
        ));
    }
    Ok(match (own, function) {
        (Some(value), _) => Default::Value(default_value(ty, value)),
        (None, Some(function)) => {
            let path = LitStr::new(&function, Span::call_site()).parse()?;
            Default::Function(function, path)
        }
        (None, None) if source == ValueSource::Key && (is_bare || has_word(serde, "default")) => {
            Default::Value(quote!((&&&api::Ask::<#ty>::new()).usual()))
        }
        // Serde's default of a skipped or flattened field.
        (None, None) if has_word(serde, "default") => {
            Default::Value(quote!(::core::default::Default::default()))
        }
        (None, None) => Default::Missing,
    })
}

/// An expression of the field's type; string literals and lists are converted to `String` and `Vec`.
fn default_value(ty: &Type, value: &Expr) -> TokenStream {
    let text = |value: &Expr| match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    };
    if let Some(text) = text(value) {
        return quote!(<#ty>::from(#text));
    }
    let Expr::Array(list) = value else { return value.to_token_stream() };
    let texts: Option<Vec<_>> = list.elems.iter().map(text).collect();
    match texts {
        Some(texts) if !texts.is_empty() => {
            quote!(<#ty>::from([#(::std::string::String::from(#texts)),*]))
        }
        _ => quote!(<#ty>::from(#list)),
    }
}
