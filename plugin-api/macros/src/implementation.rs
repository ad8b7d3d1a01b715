//! `#[hook]` and `#[metric]`: the impl block as written, and what it tells about itself.

use crate::attributes::{check_keys, check_texts, expr_of, text_of};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Error, Expr, ImplItem, ItemImpl, Meta, Result};

/// Names that points have elsewhere; `Point::ALIASES` of plugin-api has the same, which a test there compares.
const ALIASES: [(&str, &str); 9] = [
    ("before_step", "before_train_iter"),
    ("after_step", "after_train_iter"),
    ("on_run_begin", "before_run"),
    ("on_run_end", "after_run"),
    ("on_epoch_begin", "before_epoch"),
    ("on_epoch_end", "after_epoch"),
    ("on_iter_begin", "before_iter"),
    ("on_iter_end", "after_iter"),
    ("after_hook_is_attached", "on_attach"),
];

/// `#[hook(level = NORMAL, every = "10it", ranks = "main", aliases = "…", mutates = "params", reads = "…", writes = "…", ops = […], on_error = "abort")]`
pub(crate) fn hook(entries: &[Meta], mut item: ItemImpl) -> Result<TokenStream> {
    check_keys(
        entries,
        &["level", "every", "ranks", "aliases", "mutates", "reads", "writes", "ops", "on_error"],
    )?;
    check_texts(entries, &["every", "ranks", "aliases", "mutates", "reads", "writes", "on_error"])?;
    check_every(entries)?;
    check_ranks(entries)?;
    resolve_aliases(&mut item);
    let methods = methods(&item);
    let is_state = |name: &str| matches!(name, "save_state" | "load_state");
    let has_state = methods.iter().any(|(name, _)| name == "save_state");
    // A method that is compiled only under a condition is a point only under that condition.
    let points = methods
        .iter()
        .filter(|(name, _)| !is_state(name))
        .map(|(name, cfg)| quote!(#(#cfg)* #name));
    let level = level(expr_of(entries, "level"));
    let text = |key| text_of(entries, key).unwrap_or_default();
    let (mutates, reads, writes, on_error, aliases, every, ranks) = (
        text("mutates"),
        text("reads"),
        text("writes"),
        text("on_error"),
        text("aliases"),
        text("every"),
        text("ranks"),
    );
    let ty = &item.self_ty;
    let (about, ops, no_fields) = (about(ty), ops(entries)?, no_fields());
    Ok(quote! {
        #item

        impl ::hookrack_plugin_api::HookInfo for #ty {
            const POINTS: &'static [&'static str] = &[#(#points),*];
            const LEVEL: ::hookrack_plugin_api::Level = #level;
            const EVERY: &'static str = #every;
            const RANKS: &'static str = #ranks;
            const ALIASES: &'static str = #aliases;
            const MUTATES: &'static str = #mutates;
            const READS: &'static str = #reads;
            const WRITES: &'static str = #writes;
            const ON_ERROR: &'static str = #on_error;
            const HAS_STATE: bool = {
                #no_fields
                #has_state || api::Fields::<#ty>::ANY
            };
            fn save_fields(&self, state: &mut ::hookrack_plugin_api::StateWriter<'_>) -> ::hookrack_plugin_api::Result<()> {
                #no_fields
                api::Fields::<#ty>::save(self, state)
            }
            fn load_fields(&mut self, state: &::hookrack_plugin_api::StateReader<'_>) -> ::hookrack_plugin_api::Result<()> {
                #no_fields
                api::Fields::<#ty>::load(self, state)
            }
            #ops
            #about
        }
    })
}

/// A cadence is a number and a unit. The host reads it again; here the mistake is shown at its place.
fn check_every(entries: &[Meta]) -> Result<()> {
    let Some(every) = expr_of(entries, "every") else { return Ok(()) };
    let text = text_of(entries, "every").unwrap_or_default();
    let count = text.strip_suffix("it").or_else(|| text.strip_suffix("ep"));
    if count.and_then(|count| count.parse::<u64>().ok()).is_some_and(|count| count > 0) {
        return Ok(());
    }
    Err(Error::new_spanned(every, "expected iterations or epochs, such as \"10it\" or \"2ep\""))
}

/// As [`check_every`].
fn check_ranks(entries: &[Meta]) -> Result<()> {
    let Some(ranks) = expr_of(entries, "ranks") else { return Ok(()) };
    match text_of(entries, "ranks").unwrap_or_default().as_str() {
        "all" | "main" => Ok(()),
        _ => Err(Error::new_spanned(ranks, "expected \"all\" or \"main\"")),
    }
}

/// `#[metric(better = "higher", unit = "%", aliases = "…", ops = […])]`
pub(crate) fn metric(entries: &[Meta], item: &ItemImpl) -> Result<TokenStream> {
    check_keys(entries, &["better", "unit", "aliases", "ops"])?;
    check_texts(entries, &["better", "unit", "aliases"])?;
    let text = |key| text_of(entries, key).unwrap_or_default();
    let (better, unit, aliases) = (text("better"), text("unit"), text("aliases"));
    if !matches!(better.as_str(), "higher" | "lower" | "") {
        return Err(Error::new_spanned(&entries[0], "better is \"higher\" or \"lower\""));
    }
    let ty = &item.self_ty;
    // A macro in the block may expand to it.
    let has_macro = item.items.iter().any(|item| matches!(item, ImplItem::Macro(_)));
    let saves = has_macro || methods(item).iter().any(|(name, _)| name == "save_state");
    let (about, ops, no_fields) = (about(ty), ops(entries)?, no_fields());
    Ok(quote! {
        #item

        const _: () = {
            #no_fields
            ::core::assert!(
                #saves || api::Fields::<#ty>::ANY,
                "a metric saves what it gathers: mark its fields with #[param(state)], or write save_state"
            );
        };

        impl ::hookrack_plugin_api::MetricInfo for #ty {
            fn save_fields(&self, state: &mut ::hookrack_plugin_api::StateWriter<'_>) -> ::hookrack_plugin_api::Result<()> {
                #no_fields
                api::Fields::<#ty>::save(self, state)
            }
            const BETTER: &'static str = #better;
            const UNIT: &'static str = #unit;
            const ALIASES: &'static str = #aliases;
            #ops
            #about
        }
    })
}

/// Has `Fields::<T>` mean "no saved fields" where `T` has none.
fn no_fields() -> TokenStream {
    quote! {
        #[allow(unused_imports, reason = "a struct with saved fields has answers of its own")]
        use ::hookrack_plugin_api::__private::{self as api, NoFields as _};
    }
}

/// `ops = [NORM, "aten::add"]`: operators by their statics or by name.
fn ops(entries: &[Meta]) -> Result<TokenStream> {
    let listed = match expr_of(entries, "ops") {
        None => return Ok(TokenStream::new()),
        Some(Expr::Array(list)) => list.elems.iter(),
        Some(other) => {
            return Err(Error::new_spanned(
                other,
                "expected a list, such as [NORM, \"aten::add\"]",
            ));
        }
    };
    Ok(quote! {
        fn ops() -> ::std::vec::Vec<&'static str> {
            ::std::vec![#(::hookrack_plugin_api::op::OpName::op_name(&#listed)),*]
        }
    })
}

/// Doc line and parameters, asked of the settings struct where it describes itself.
fn about(ty: &syn::Type) -> TokenStream {
    quote! {
        fn doc() -> &'static str {
            #[allow(unused_imports, reason = "which of the two applies is for the compiler to find")]
            use ::hookrack_plugin_api::__private::{Ask, AskDescribe as _, AskUndescribed as _};
            (&&Ask::<#ty>::new()).doc()
        }
        fn params() -> ::core::option::Option<::std::vec::Vec<::hookrack_plugin_api::Param>> {
            #[allow(unused_imports, reason = "which of the two applies is for the compiler to find")]
            use ::hookrack_plugin_api::__private::{Ask, AskDescribe as _, AskUndescribed as _};
            (&&Ask::<#ty>::new()).params()
        }
    }
}

fn resolve_aliases(item: &mut ItemImpl) {
    for method in &mut item.items {
        let ImplItem::Fn(method) = method else { continue };
        let name = method.sig.ident.to_string();
        if let Some((_, point)) = ALIASES.iter().find(|(alias, _)| *alias == name) {
            method.sig.ident = syn::Ident::new(point, method.sig.ident.span());
        }
    }
}

/// The methods of the block, each with the conditions under which it is compiled.
fn methods(item: &ItemImpl) -> Vec<(String, Vec<&Attribute>)> {
    let mut methods = Vec::new();
    for member in &item.items {
        if let ImplItem::Fn(method) = member {
            let conditions = method.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
            methods.push((method.sig.ident.to_string(), conditions.collect()));
        }
    }
    methods
}

/// `NORMAL` names a level, anything else is a number.
fn level(given: Option<&Expr>) -> TokenStream {
    match given {
        None => quote!(::hookrack_plugin_api::Level::NORMAL),
        Some(Expr::Path(path)) if path.path.get_ident().is_some() => {
            quote!(::hookrack_plugin_api::Level::#path)
        }
        Some(number) => quote!(::hookrack_plugin_api::Level(#number)),
    }
}

#[cfg(test)]
mod tests {
    use super::{hook, metric};
    use syn::{ItemImpl, Meta, parse_quote};

    fn error(entry: Meta) -> String {
        let item: ItemImpl = parse_quote!(impl Hook for Watch {});
        hook(&[entry], item).unwrap_err().to_string()
    }

    #[test]
    fn what_a_hook_cannot_say_is_refused_with_what_it_can() {
        assert_eq!(
            error(parse_quote!(levle = 3)),
            "unknown key `levle`: expected level, every, ranks, aliases, mutates, reads, writes, ops or on_error"
        );
        assert_eq!(error(parse_quote!(mutates = params)), "expected a text: mutates = \"…\"");
        assert_eq!(
            error(parse_quote!(ops = "aten::add")),
            "expected a list, such as [NORM, \"aten::add\"]"
        );
        for every in ["10", "it", "0it", "10 it", "-1ep"] {
            let entry = parse_quote!(every = #every);
            assert!(error(entry).starts_with("expected iterations or epochs"), "{every}");
        }
    }

    #[test]
    fn a_metric_is_better_higher_or_lower() {
        let item: ItemImpl = parse_quote!(impl Metric for Share {});
        let error = metric(&[parse_quote!(better = "more")], &item).unwrap_err().to_string();
        assert_eq!(error, "better is \"higher\" or \"lower\"");
    }
}
