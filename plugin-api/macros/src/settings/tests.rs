//! Compile errors of invalid settings.

use super::{Dialect, derive};
use syn::{DeriveInput, parse_quote};

/// The error of a struct or enum, as the compiler shows it.
fn error(input: &DeriveInput) -> String {
    derive(input, Dialect::Settings).unwrap_err().to_string()
}

#[test]
fn an_unknown_key_in_param_is_named_with_the_known_ones() {
    assert_eq!(
        error(&parse_quote!(
            struct Hook {
                #[param(defualt = 1)]
                steps: u64,
            }
        )),
        "unknown key `defualt`: expected default, min, max, name, alias, check, monitor, skip, state or flatten"
    );
    assert_eq!(
        error(&parse_quote!(
            enum Mode {
                #[param(rename = "lowest")]
                Min,
            }
        )),
        "unknown key `rename`: expected name or alias"
    );
}

#[test]
fn a_serde_attribute_is_refused_with_its_replacement() {
    for input in [
        parse_quote!(
            #[serde(deny_unknown_fields)]
            struct Hook {}
        ),
        parse_quote!(
            struct Hook {
                #[serde(default)]
                steps: u64,
            }
        ),
        parse_quote!(
            #[serde(rename_all = "snake_case")]
            enum Mode {
                Min,
            }
        ),
        parse_quote!(
            enum Mode {
                #[serde(rename = "min")]
                Min,
            }
        ),
    ] {
        assert!(error(&input).starts_with("`#[derive(Settings)]` takes `#[param(…)]` instead"));
    }
}

#[test]
fn a_skipped_or_flattened_field_takes_nothing_else() {
    assert_eq!(
        error(&parse_quote!(
            struct Hook {
                #[param(skip, default = 1)]
                steps: u64,
            }
        )),
        "a skipped field is not a setting: it starts as `Default::default()`"
    );
    assert_eq!(
        error(&parse_quote!(
            struct Hook {
                #[param(min = 1)]
                #[param(flatten)]
                steps: Steps,
            }
        )),
        "a flattened field has no key of its own: set this on the fields of its struct"
    );
}

#[test]
fn a_value_of_the_wrong_form_is_refused() {
    for (input, says) in [
        (
            parse_quote!(
                struct Hook {
                    #[param(name = steps)]
                    n: u64,
                }
            ),
            "expected name = \"key\"",
        ),
        (
            parse_quote!(
                struct Hook {
                    #[param(alias = 1)]
                    n: u64,
                }
            ),
            "expected alias = \"key\"",
        ),
        (
            parse_quote!(
                struct Hook {
                    #[param(skip = true)]
                    n: u64,
                }
            ),
            "`skip` takes no value",
        ),
        (
            parse_quote!(
                struct Hook {
                    #[param(state, default = 1)]
                    n: u64,
                }
            ),
            "a saved field is not a setting: it starts as `Default::default()`",
        ),
        (
            parse_quote!(
                struct Hook {
                    #[param(min)]
                    n: u64,
                }
            ),
            "expected min = …",
        ),
        (
            parse_quote!(
                #[param(skip)]
                struct Hook {}
            ),
            "`#[param]` belongs on a field or a variant",
        ),
    ] {
        assert_eq!(error(&input), says);
    }
}

#[test]
fn what_cannot_be_settings_is_refused_with_the_reason() {
    assert_eq!(
        error(&parse_quote!(
            struct Hook(u64);
        )),
        "settings need named fields"
    );
    assert_eq!(
        error(&parse_quote!(
            struct Hook<T> {
                inner: T,
            }
        )),
        "settings take no generic parameters"
    );
    assert_eq!(error(&parse_quote!(union Hook { a: u64, b: i64 })), "a union cannot be settings");
    assert!(
        error(&parse_quote!(
            enum Mode {
                Min(u64),
            }
        ))
        .starts_with("a settings enum must have only variants without fields")
    );
}
