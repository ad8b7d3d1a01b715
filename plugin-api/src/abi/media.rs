//! The extension by which a hook hands pictures, histograms and texts to the writers, and has writers opened.

use super::{HrHeader, HrStatus, HrStr, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const MEDIA: &str = "hookrack.media/1";

/// What a run shows beside scalars. Names are scoped like those of scalars.
#[repr(C)]
#[derive(StableAbi)]
pub struct MediaTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Whether any writer takes pictures and histograms: 0 or 1. Where none does, making one is wasted. [train-thread]
    pub is_wanted: unsafe extern "C" fn(host: *mut c_void) -> u32,
    /// Puts a picture: height by width, or 1, 3 or 4 channels by height by width, in bytes or in numbers from 0 to 1.
    /// Copies it. [train-thread] [borrowed until return]
    pub put_image:
        unsafe extern "C" fn(host: *mut c_void, name: HrStr, image: HrTensor) -> HrStatus,
    /// Puts how a tensor's numbers are distributed over `bins` ranges of equal width. What is not finite does not
    /// count. [train-thread] [borrowed until return]
    pub put_histogram: unsafe extern "C" fn(
        host: *mut c_void,
        name: HrStr,
        values: HrTensor,
        bins: usize,
    ) -> HrStatus,
    /// Puts a text; Markdown where a writer shows it. [train-thread] [borrowed until return]
    pub put_text: unsafe extern "C" fn(host: *mut c_void, name: HrStr, text: HrStr) -> HrStatus,
    /// Opens a writer by its kind, such as `tensorboard`, in `folder` of the run directory (empty for the kind's own
    /// choice). One that is open already stays as it is. Call it before training begins. [train-thread]
    /// [borrowed until return]
    pub open_writer:
        unsafe extern "C" fn(host: *mut c_void, kind: HrStr, folder: HrStr) -> HrStatus,
}
