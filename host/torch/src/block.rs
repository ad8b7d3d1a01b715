//! Memory for batches: any thread fills a block, libtorch takes ownership, and the pool gets it back when the tensor is dropped.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tch::Tensor;

use super::buffer::Element;
use super::dlpack::{DEVICE_CPU, RawView};
use super::error::check;
use super::{Result, TorchError, ffi};

/// A cache line, libtorch's own alignment.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy)]
struct Line([u8; 64]);

/// Blocks that wait to be reused.
#[derive(Debug)]
pub struct Pool {
    // Boxed, as libtorch holds on to a block by its address.
    #[expect(
        clippy::vec_box,
        reason = "see above: a block goes in and out as it is, without a new box"
    )]
    free: Mutex<Vec<Box<Block>>>,
    room: usize,
}

impl Pool {
    /// A pool that keeps at most this many blocks.
    pub fn new(room: usize) -> Arc<Self> {
        Arc::new(Self { free: Mutex::default(), room })
    }

    /// A block with room for `bytes`, reused if possible. Its contents are undefined.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Result<Box<Block>> {
        let lines = bytes.div_ceil(size_of::<Line>()).max(1);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // Prefers one of the same size: inputs and labels share the pool.
        let place = free.iter().position(|block| block.lines.len() == lines);
        if let Some(place) = place {
            return Ok(free.swap_remove(place));
        }
        drop(free);
        let mut fresh = Vec::new();
        fresh.try_reserve_exact(lines).map_err(|_| TorchError::out_of_memory(bytes))?;
        fresh.resize(lines, Line([0; 64]));
        Ok(Box::new(Block { lines: fresh, home: Arc::downgrade(self) }))
    }

    fn put(&self, block: Box<Block>) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() == self.room && !free.is_empty() {
            // Drops one, whose size may no longer be needed.
            free.swap_remove(0);
        }
        if free.len() < self.room {
            free.push(block);
        }
    }
}

/// Memory of one future tensor.
#[derive(Debug)]
pub struct Block {
    lines: Vec<Line>,
    home: Weak<Pool>,
}

impl Block {
    /// The first `count` elements. Fewer if the block is smaller, which is the caller's mistake.
    pub fn elements<T: Element>(&mut self, count: usize) -> &mut [T] {
        let room = self.lines.len() * size_of::<Line>() / size_of::<T>();
        let first = self.lines.as_mut_ptr().cast::<T>();
        // SAFETY: initialized memory of ours, aligned to 64 bytes, with room for so many; elements are plain numbers,
        // for which any bytes will do.
        unsafe { std::slice::from_raw_parts_mut(first, count.min(room)) }
    }

    /// A tensor with this memory; when the last tensor that shares it is dropped, on any thread, the memory returns to the pool.
    pub fn into_tensor<T: Element>(self: Box<Self>, shape: &[i64]) -> Result<Tensor> {
        let count: i64 = shape.iter().product();
        let room = self.lines.len() * size_of::<Line>() / size_of::<T>();
        if usize::try_from(count).map_or(true, |count| count > room) {
            let text = format!("a block with room for {room} elements cannot have shape {shape:?}");
            return Err(TorchError::new(&text));
        }
        let (code, bits) = T::DLPACK;
        let dims = i64::try_from(shape.len()).unwrap_or(0);
        let context = Box::into_raw(self);
        let mut out = ptr::null_mut();
        // SAFETY: `context` is a block of ours that stays where it is until `release` gets it, which the shim calls
        // exactly once, also on failure; its memory is large enough for the shape. On success `out` is a new tensor.
        unsafe {
            let view = RawView {
                data: (*context).lines.as_mut_ptr().cast(),
                shape: shape.as_ptr(),
                strides: ptr::null(),
                dims,
                device_type: DEVICE_CPU,
                device_id: 0,
                code,
                bits,
                lanes: 1,
            };
            check(ffi::hrt_adopt(&raw const view, context.cast(), release, &raw mut out))?;
            Ok(Tensor::from_ptr(out))
        }
    }
}

extern "C" fn release(context: *mut c_void) {
    // SAFETY: the block that `into_tensor` gave away, back for good.
    let block = unsafe { Box::from_raw(context.cast::<Block>()) };
    if let Some(home) = block.home.upgrade() {
        home.put(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(pool: &Arc<Pool>, first: f32) -> Tensor {
        let mut block = pool.take(6 * 4).unwrap();
        block.elements::<f32>(6).copy_from_slice(&[first, 1.0, 2.0, 3.0, 4.0, 5.0]);
        block.into_tensor::<f32>(&[2, 3]).unwrap()
    }

    #[test]
    fn memory_is_used_again_only_after_the_last_tensor_of_it_is_gone() {
        let pool = Pool::new(2);
        let first = tensor(&pool, 7.0);
        let row = first.get(0);
        let (address, values) = (first.data_ptr(), Vec::<f32>::try_from(first.get(1)).unwrap());
        assert_eq!(values, [3.0, 4.0, 5.0]);
        drop(first);
        assert_ne!(tensor(&pool, 8.0).data_ptr(), address, "a view is still there");
        assert_eq!(Vec::<f32>::try_from(row.shallow_clone()).unwrap(), [7.0, 1.0, 2.0]);
        drop(row);
        let addresses = [tensor(&pool, 9.0), tensor(&pool, 9.5)].map(|tensor| tensor.data_ptr());
        assert!(addresses.contains(&address));
    }

    #[test]
    fn a_pool_may_go_before_its_tensors_and_holds_no_more_than_it_should() {
        let pool = Pool::new(1);
        let (a, b) = (tensor(&pool, 1.0), tensor(&pool, 2.0));
        drop(a);
        drop(b);
        assert_eq!(pool.free.lock().unwrap().len(), 1);
        let last = tensor(&pool, 3.0);
        drop(pool);
        assert_eq!(Vec::<f32>::try_from(last.get(0)).unwrap(), [3.0, 1.0, 2.0]);
    }

    #[test]
    fn a_shape_that_is_too_large_is_refused() {
        let error = Pool::new(1).take(64).unwrap().into_tensor::<i64>(&[3, 3]).unwrap_err();
        assert_eq!(error.text(), "a block with room for 8 elements cannot have shape [3, 3]");
    }

    #[test]
    fn more_memory_than_there_is_is_an_error() {
        let error = Pool::new(1).take(1 << 60).unwrap_err().to_string();
        assert!(
            error.starts_with("out of memory: could not allocate 1152921504606846976 bytes"),
            "{error}"
        );
    }
}
