//! Pictures, histograms and texts from plugins, and writers that they have opened.

use super::desk::Desk;
use super::events::scoped_name;
use crate::context::Context;
use crate::events::shown;
use crate::events::{Content, Medium};
use hookrack_plugin_api::abi::{HrHeader, HrStatus, HrStr, HrTensor, MediaTable};
use std::ffi::c_void;
use tch::Tensor;

/// The host's media table.
pub(super) static TABLE: MediaTable = MediaTable {
    header: HrHeader::of::<MediaTable>(0),
    is_wanted,
    put_image,
    put_histogram,
    put_text,
    open_writer,
};

fn wants_media(context: &Context) -> bool {
    context.writers.borrow().take_media()
}

unsafe extern "C" fn is_wanted(host: *mut c_void) -> u32 {
    let mut wanted = 0;
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        wanted = u32::from(wants_media(context));
        Ok::<_, String>(())
    });
    wanted
}

/// Puts what `make` makes under the full name; nothing where it makes nothing.
///
/// # Safety
/// `host` belongs to a handle of ours; the name is lent until this returns.
unsafe fn put(
    host: *mut c_void,
    name: HrStr,
    make: impl FnOnce(&Context) -> Result<Option<Content>, String>,
) -> HrStatus {
    // SAFETY: by the contract.
    let (desk, name) = unsafe { (Desk::of(host), name.to_lossy()) };
    desk.answer(|context| {
        let name = scoped_name(&name, desk, context)?.into_owned();
        if let Some(content) = make(context)? {
            let iter = context.progress.get().iter;
            context.events.borrow_mut().put_medium(Medium { name, iter, content });
        }
        Ok::<_, String>(())
    })
}

fn tensor(context: &Context, handle: HrTensor) -> Result<Tensor, String> {
    context.arena.borrow().tensor(handle).map(Tensor::shallow_clone).map_err(|e| e.to_string())
}

unsafe extern "C" fn put_image(host: *mut c_void, name: HrStr, image: HrTensor) -> HrStatus {
    let make = |context: &Context| {
        if !wants_media(context) {
            return Ok(None);
        }
        let image = shown::image(&tensor(context, image)?).map_err(|e| e.to_string())?;
        Ok(Some(Content::Image(image)))
    };
    // SAFETY: the caller's handle is ours; it lends the name until this returns.
    unsafe { put(host, name, make) }
}

unsafe extern "C" fn put_histogram(
    host: *mut c_void,
    name: HrStr,
    values: HrTensor,
    bins: usize,
) -> HrStatus {
    let make = |context: &Context| {
        if !wants_media(context) {
            return Ok(None);
        }
        let made = shown::histogram(&tensor(context, values)?, bins).map_err(|e| e.to_string())?;
        Ok(made.map(Content::Histogram))
    };
    // SAFETY: the caller's handle is ours; it lends the name until this returns.
    unsafe { put(host, name, make) }
}

unsafe extern "C" fn put_text(host: *mut c_void, name: HrStr, text: HrStr) -> HrStatus {
    // SAFETY: the caller lends the text until this returns.
    let text = unsafe { text.to_lossy() }.into_owned();
    // SAFETY: the caller's handle is ours; it lends the name until this returns.
    unsafe { put(host, name, |_| Ok(Some(Content::Text(text)))) }
}

unsafe extern "C" fn open_writer(host: *mut c_void, kind: HrStr, folder: HrStr) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends both texts until this returns.
    let (desk, kind, folder) = unsafe { (Desk::of(host), kind.to_lossy(), folder.to_lossy()) };
    desk.answer(|context| context.writers.borrow_mut().open(&kind, &folder))
}
