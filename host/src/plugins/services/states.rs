//! Values that hooks share by name.

use super::service::{service, table};
use crate::plugins::wire_value::taken_in;
use hookrack_plugin_api::abi::{HrStatus, HrStr, HrValue, WireTree};
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;

table!(StateTable { put, value, remove });

thread_local! {
    // The value lent last, laid out for the wire; it lives until the next call of this table.
    static BORROWED: RefCell<Option<BorrowedValue>> = const { RefCell::new(None) };
}

struct BorrowedValue {
    // Dropped before the value that it borrows from: fields drop in order.
    tree: WireTree<'static>,
    _value: Box<hookrack_plugin_api::Value>,
}

unsafe extern "C" fn put(host: *mut c_void, key: HrStr, value: *const HrValue) -> HrStatus {
    service!(host, text(key), |context| {
        // SAFETY: the caller lends the tree until this returns.
        let value = unsafe { taken_in(value) }?;
        context.states.borrow_mut().insert(key.into_owned(), value);
        Ok(())
    })
}

unsafe extern "C" fn value(host: *mut c_void, key: HrStr) -> *const HrValue {
    let mut lent: *const HrValue = ptr::null();
    service!(host, text(key), found(&raw mut lent), |context| {
        let Some(value) = context.states.borrow().get(key.as_ref()).cloned().map(Box::new) else {
            return Ok(None);
        };
        // SAFETY: the box is kept beside the tree that borrows from it, and is dropped after it.
        let tree = WireTree::new(unsafe { &*ptr::from_ref(value.as_ref()) });
        BORROWED.set(Some(BorrowedValue { tree, _value: value }));
        // The address is taken where the tree now is.
        Ok(BORROWED.with_borrow(|kept| kept.as_ref().map(|kept| kept.tree.as_ptr())))
    });
    lent
}

unsafe extern "C" fn remove(host: *mut c_void, key: HrStr) -> HrStatus {
    service!(host, text(key), |context| {
        Ok(context.states.borrow_mut().remove(key.as_ref()).map(drop))
    })
}
