//! Tensors beside memory that must not be touched: a plugin that writes beyond their elements ends the process. For tests of plugins.

use std::io;
use std::ptr;
use tch::{Device, TchError, Tensor};

/// Which end of a tensor touches forbidden memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// What is before the first element.
    Start,
    /// What is after the last element.
    End,
}

impl Edge {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Start, Self::End];
}

/// Why there is no guarded copy.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The system has no memory for it.
    #[error("no memory with guard pages: {0}")]
    Memory(#[from] io::Error),
    /// libtorch does not accept it.
    #[error(transparent)]
    Tensor(#[from] TchError),
}

/// A contiguous copy of a tensor whose elements touch a page without access. Its memory is never freed.
///
/// # Errors
/// There is no memory, or libtorch refuses the copy.
pub fn guarded(tensor: &Tensor, edge: Edge) -> Result<Tensor, GuardError> {
    let bytes = tensor.numel() * tensor.kind().elt_size_in_bytes();
    let memory = pages(bytes)?;
    let start = match edge {
        Edge::Start => memory.start,
        Edge::End => memory.start.wrapping_add(memory.len - bytes),
    };
    // SAFETY: `bytes` bytes from there can be read and written for as long as the process lives; no strides are those of a contiguous
    // tensor.
    let mut copy =
        unsafe { Tensor::f_from_blob(start, &tensor.size(), &[], tensor.kind(), Device::Cpu) }?;
    tch::no_grad(|| copy.f_copy_(&tensor.detach()))?;
    Ok(copy)
}

/// Memory between two pages without access.
struct Pages {
    start: *const u8,
    len: usize,
}

fn pages(bytes: usize) -> io::Result<Pages> {
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = usize::try_from(page).map_err(io::Error::other)?;
    let len = bytes.max(1).div_ceil(page) * page;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new memory, at a place that the system chooses.
    let base =
        unsafe { libc::mmap(ptr::null_mut(), len + 2 * page, libc::PROT_NONE, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let start = base.cast::<u8>().wrapping_add(page);
    // SAFETY: within the memory that was mapped above.
    let opened = unsafe { libc::mprotect(start.cast(), len, libc::PROT_READ | libc::PROT_WRITE) };
    if opened != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Pages { start, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_copy_has_the_same_elements_and_touches_the_end_of_a_page() {
        let own = Tensor::from_slice(&[1_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).view([2, 3]);
        for edge in Edge::BOTH {
            let copy = guarded(&own, edge).unwrap();
            assert_eq!(copy, own);
            let place = copy.data_ptr().addr();
            let touching = if edge == Edge::Start { place } else { place + 24 };
            assert_eq!(touching % 4096, 0, "{edge:?}");
        }
        let empty = guarded(&Tensor::from_slice(&[0_i64; 0]), Edge::End).unwrap();
        assert_eq!(empty.numel(), 0);
    }
}
