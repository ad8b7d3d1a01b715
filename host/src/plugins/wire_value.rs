//! Copies a tree of values from a plugin, with a limit on its depth.

use hookrack_plugin_api::Value;
use hookrack_plugin_api::abi::{HrValue, VALUE_LIST, VALUE_TABLE};

/// The maximum nesting of lists and tables. `state.json` has four around a value, and is read up to 127 deep.
const DEEPEST: usize = 100;

/// The values of a hook's state have at most this many bytes together; tensors are for more.
pub(super) const LARGEST: usize = 64 << 20;

/// Copies a tree.
///
/// # Safety
/// `value` is null or points to a complete tree: every `items` points to `len` values, every text is readable.
///
/// # Errors
/// It is null, of a kind that this host does not know, or nested too deep.
pub(super) unsafe fn taken_in(value: *const HrValue) -> Result<Value, String> {
    // SAFETY: by the contract.
    let value = unsafe { value.as_ref() }.ok_or("the value is null")?;
    // SAFETY: by the contract.
    if !unsafe { fits(value, DEEPEST) } {
        return Err(format!(
            "the value is nested more than {DEEPEST} levels deep, too deep for a checkpoint"
        ));
    }
    // SAFETY: by the contract.
    let taken = unsafe { value.to_value() };
    taken
        .ok_or_else(|| "the value is missing, or of a kind that this host does not know".to_owned())
}

/// The bytes that a tree has in memory, more or less; its depth was checked.
pub(super) fn size(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::Str(text) => text.len(),
        Value::List(items) => items.iter().map(size).sum(),
        Value::Table(entries) => entries.iter().map(|(key, value)| key.len() + size(value)).sum(),
        _ => 0,
    }
}

/// Whether no more than `deepest` lists and tables stand within each other.
///
/// # Safety
/// As for [`taken_in`].
unsafe fn fits(value: &HrValue, deepest: usize) -> bool {
    if !matches!(value.kind, VALUE_LIST | VALUE_TABLE) || value.items.is_null() {
        return true;
    }
    let Some(left) = deepest.checked_sub(1) else { return false };
    // SAFETY: the caller vouches that `items` points to `len` values.
    let children = unsafe { std::slice::from_raw_parts(value.items, value.len) };
    // SAFETY: the children are trees of the same kind.
    children.iter().all(|child| unsafe { fits(child, left) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::abi::WireTree;

    fn nested(depth: usize) -> Value {
        let wrap = |inner, level: usize| match level % 2 {
            0 => Value::List(vec![inner]),
            _ => Value::Table(vec![("inner".to_owned(), inner)]),
        };
        (0..depth).fold(Value::Float(f64::NAN), wrap)
    }

    fn taken(value: &Value) -> Result<Value, String> {
        let tree = WireTree::new(value);
        // SAFETY: the tree is whole and lives through the call.
        unsafe { taken_in(tree.as_ptr()) }
    }

    #[test]
    fn what_is_taken_in_can_be_read_back_and_what_cannot_is_refused() {
        let deepest = taken(&nested(DEEPEST)).unwrap();
        let json = crate::run::to_json(&deepest);
        // As deep as a hook's value stands in `state.json`.
        let state = serde_json::json!({ "hooks": { "name": { "key": json } } }).to_string();
        let read: serde_json::Value = serde_json::from_str(&state).unwrap();
        let back = crate::run::from_json(&read["hooks"]["name"]["key"]).unwrap();
        assert_eq!(format!("{back:?}"), format!("{deepest:?}"));
        let error = taken(&nested(DEEPEST + 1)).unwrap_err();
        assert!(error.contains("nested more than 100 levels deep"), "{error}");
    }
}
