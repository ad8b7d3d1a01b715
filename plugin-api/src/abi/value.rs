//! A settings tree in the ABI: flat structs that C can read without a parser.

use super::HrStr;
use crate::value::Value;
use abi_stable::StableAbi;

/// Nothing.
pub const VALUE_NONE: u32 = 0;
/// `int` is 0 or 1.
pub const VALUE_BOOL: u32 = 1;
/// `int` is the value.
pub const VALUE_INT: u32 = 2;
/// `float_` is the value.
pub const VALUE_FLOAT: u32 = 3;
/// `text` is the value.
pub const VALUE_TEXT: u32 = 4;
/// `items` points to `len` values.
pub const VALUE_LIST: u32 = 5;
/// `items` points to `len` values, each with its `key`.
pub const VALUE_TABLE: u32 = 6;

/// One value of a settings tree, borrowed until the call returns.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrValue {
    /// A `VALUE_*` number: which of the fields below counts.
    pub kind: u32,
    /// Its key, if it is an entry of a table.
    pub key: HrStr,
    /// The number of a VALUE_INT or VALUE_BOOL.
    pub int: i64,
    /// The number of a VALUE_FLOAT.
    pub float_: f64,
    /// The text of a VALUE_TEXT.
    pub text: HrStr,
    /// The values of a VALUE_LIST or VALUE_TABLE.
    #[sabi(unsafe_opaque_field)]
    pub items: *const HrValue,
    /// The number of `items`.
    pub len: usize,
}

impl HrValue {
    const NONE: Self = Self {
        kind: VALUE_NONE,
        key: HrStr::EMPTY,
        int: 0,
        float_: 0.0,
        text: HrStr::EMPTY,
        items: std::ptr::null(),
        len: 0,
    };

    /// Copies the tree out of borrowed memory; `None` if a kind is unknown or the value is empty.
    ///
    /// # Safety
    /// The tree must be whole: every `items` points to `len` values, every text is readable.
    pub unsafe fn to_value(&self) -> Option<Value> {
        Some(match self.kind {
            VALUE_BOOL => Value::Bool(self.int != 0),
            VALUE_INT => Value::Int(self.int),
            VALUE_FLOAT => Value::Float(self.float_),
            // SAFETY: the caller vouches for the texts.
            VALUE_TEXT => Value::Str(unsafe { self.text.to_lossy() }.into_owned()),
            VALUE_LIST => Value::List(
                // SAFETY: the caller vouches for the whole tree.
                unsafe { self.children().iter().filter_map(|item| item.to_value()).collect() },
            ),
            VALUE_TABLE => {
                // SAFETY: the caller vouches for the whole tree.
                let children = unsafe { self.children() };
                let field = |item: &Self| {
                    // SAFETY: as above.
                    unsafe { Some((item.key.to_lossy().into_owned(), item.to_value()?)) }
                };
                Value::Table(children.iter().filter_map(field).collect())
            }
            _ => return None,
        })
    }

    /// # Safety
    /// As for [`Self::to_value`].
    unsafe fn children(&self) -> &[Self] {
        if self.len == 0 || self.items.is_null() {
            return &[];
        }
        // SAFETY: the caller vouches that `items` points to `len` values.
        unsafe { std::slice::from_raw_parts(self.items, self.len) }
    }
}

/// A [`Value`] in the layout of the ABI; its root can be borrowed for as long as it lives.
pub struct WireTree<'a> {
    root: HrValue,
    // Each list's children sit in a box of their own, whose address does not change when this vector grows.
    children: Vec<Box<[HrValue]>>,
    value: std::marker::PhantomData<&'a Value>,
}

impl<'a> WireTree<'a> {
    /// Converts `value`; its texts are borrowed, not copied.
    pub fn new(value: &'a Value) -> Self {
        let mut children = Vec::new();
        let root = lay_out(value, &mut children);
        Self { root, children, value: std::marker::PhantomData }
    }

    /// The tree as the other side receives it.
    pub fn as_ptr(&self) -> *const HrValue {
        debug_assert!(self.root.len == 0 || !self.children.is_empty());
        &raw const self.root
    }
}

fn lay_out(value: &Value, children: &mut Vec<Box<[HrValue]>>) -> HrValue {
    let none = HrValue::NONE;
    match value {
        Value::Bool(b) => HrValue { kind: VALUE_BOOL, int: i64::from(*b), ..none },
        Value::Int(i) => HrValue { kind: VALUE_INT, int: *i, ..none },
        Value::Float(f) => HrValue { kind: VALUE_FLOAT, float_: *f, ..none },
        Value::Str(s) => HrValue { kind: VALUE_TEXT, text: HrStr::new(s), ..none },
        Value::List(items) => {
            let laid: Box<[_]> = items.iter().map(|item| lay_out(item, children)).collect();
            keep(VALUE_LIST, laid, children)
        }
        Value::Table(fields) => {
            let field = |(key, item): &(String, Value)| HrValue {
                key: HrStr::new(key),
                ..lay_out(item, children)
            };
            let laid: Box<[_]> = fields.iter().map(field).collect();
            keep(VALUE_TABLE, laid, children)
        }
    }
}

fn keep(kind: u32, laid: Box<[HrValue]>, children: &mut Vec<Box<[HrValue]>>) -> HrValue {
    let (items, len) = (laid.as_ptr(), laid.len());
    children.push(laid);
    HrValue { kind, items, len, ..HrValue::NONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_survives_the_wire() {
        let value = Value::Table(vec![
            ("a".into(), Value::List(vec![1i64.into(), 2.5.into(), "three".into(), true.into()])),
            ("b".into(), Value::Table(vec![("c".into(), Value::List(Vec::new()))])),
        ]);
        let tree = WireTree::new(&value);
        // SAFETY: the tree was laid out just now and is alive.
        assert_eq!(unsafe { (*tree.as_ptr()).to_value() }, Some(value.clone()));
    }
}
