//! Images, histograms and texts of plugins, and opening writers.

use super::endpoint::Endpoint;
use super::events::scoped_name;
use super::service::{Refusal, service, table};
use crate::context::Context;
use crate::events::shown;
use crate::events::{Content, MediaItem};
use hookrack_plugin_api::abi::{HrStatus, HrStr, HrTensor};
use std::ffi::c_void;

table!(MediaTable { is_wanted, put_image, put_histogram, put_text, open_writer });

fn wants_media(context: &Context) -> bool {
    context.writers.borrow().take_media()
}

unsafe extern "C" fn is_wanted(host: *mut c_void) -> u32 {
    let mut wanted = 0;
    service!(host, out(&raw mut wanted), |context| Ok(wants_media(context).into()));
    wanted
}

/// Puts the content under the full name, if there is any.
fn put(
    context: &Context,
    endpoint: &Endpoint,
    name: &str,
    make: impl FnOnce() -> Result<Option<Content>, Refusal>,
) -> Result<(), Refusal> {
    let name = scoped_name(name, endpoint, context)?.into_owned();
    if let Some(content) = make()? {
        let iter = context.progress.get().iter;
        context.events.borrow_mut().put_media(MediaItem { name, iter, content });
    }
    Ok(())
}

unsafe extern "C" fn put_image(host: *mut c_void, name: HrStr, image: HrTensor) -> HrStatus {
    service!(host, text(name), |context, endpoint| put(context, endpoint, &name, || {
        if !wants_media(context) {
            return Ok(None);
        }
        Ok(Some(Content::Image(shown::image(&context.tensor(image)?)?)))
    }))
}

unsafe extern "C" fn put_histogram(
    host: *mut c_void,
    name: HrStr,
    values: HrTensor,
    bins: usize,
) -> HrStatus {
    service!(host, text(name), |context, endpoint| put(context, endpoint, &name, || {
        if !wants_media(context) {
            return Ok(None);
        }
        Ok(shown::histogram(&context.tensor(values)?, bins)?.map(Content::Histogram))
    }))
}

unsafe extern "C" fn put_text(host: *mut c_void, name: HrStr, text: HrStr) -> HrStatus {
    service!(host, text(name, text), |context, endpoint| {
        put(context, endpoint, &name, || Ok(Some(Content::Text(text.into_owned()))))
    })
}

unsafe extern "C" fn open_writer(host: *mut c_void, kind: HrStr, folder: HrStr) -> HrStatus {
    service!(host, text(kind, folder), |context| {
        Ok(context.writers.borrow_mut().open(&kind, &folder)?)
    })
}
