//! Calls that lend rows of values to the host, or lend it room for some.

use super::Host;
use super::wire::call;
use crate::abi::{
    ArtifactTable, ConsoleTable, FileTable, HistoryTable, HrArg, HrOp, HrScalarPoint, HrStr,
    HrTensor, LayerTable, NamedTensorTable, PassTable, TensorTable,
};
use crate::error::Result;

/// The room for values that the host is given first.
const FIRST_ROOM: usize = 1024;

impl Host {
    /// The handles of a list. They stay valid until the engine changes something.
    pub fn list<'a>(self, list: u32) -> Result<&'a [HrTensor]> {
        match self.handles(list)? {
            // SAFETY: the host lends `len` handles; callers tie the slice to a borrow of the trainer.
            Some(row) if row.len > 0 => Ok(unsafe { std::slice::from_raw_parts(row.ptr, row.len) }),
            _ => Ok(&[]),
        }
    }

    /// Releases owned handles.
    pub fn release(self, tensors: &[HrTensor]) {
        let table = self.handle_table::<TensorTable>();
        // SAFETY: the row is lent until the call returns.
        unsafe { (table.release)(self.raw(), tensors.as_ptr(), tensors.len()) }
    }

    /// Calls an operator and writes its results to the beginning of `results`.
    pub fn op_call(self, op: HrOp, args: &[HrArg], results: &mut [HrArg]) -> Result<usize> {
        let (table, mut count) = (self.handle_table::<TensorTable>(), 0);
        // SAFETY: arguments are lent until the call returns; the host writes at most `results.len()` results.
        self.check(unsafe {
            (table.op_call)(
                self.raw(),
                op,
                args.as_ptr(),
                args.len(),
                results.as_mut_ptr(),
                results.len(),
                &raw mut count,
            )
        })?;
        Ok(count.min(results.len()))
    }

    /// Writes bytes to a file of the run directory.
    pub fn write_file(self, file: &str, bytes: &[u8]) -> Result<()> {
        let table = self.table::<FileTable>()?;
        // SAFETY: file and bytes are lent until the call returns.
        let status =
            unsafe { (table.write)(self.raw(), HrStr::new(file), bytes.as_ptr(), bytes.len()) };
        self.check(status)
    }

    /// Writes tensors to a file of the run directory.
    pub fn save_tensors(self, file: &str, names: &[String], tensors: &[HrTensor]) -> Result<()> {
        let table = self.table::<ArtifactTable>()?;
        crate::ensure!(
            names.len() == tensors.len(),
            "{} names for {} tensors",
            names.len(),
            tensors.len()
        );
        let lent: Vec<_> = names.iter().map(|name| HrStr::new(name)).collect();
        let (file, count) = (HrStr::new(file), lent.len());
        // SAFETY: file, names and handles are lent until the call returns.
        self.check(unsafe {
            (table.save_tensors)(self.raw(), file, lent.as_ptr(), tensors.as_ptr(), count)
        })
    }

    /// Sets the scalars of the progress line.
    pub fn show_progress(self, names: &[String]) -> Result<()> {
        let table = self.table::<ConsoleTable>()?;
        let names: Vec<_> = names.iter().map(|name| HrStr::new(name)).collect();
        // SAFETY: the names are lent until the call returns.
        self.check(unsafe { (table.show)(self.raw(), names.as_ptr(), names.len()) })
    }

    /// The last values of a scalar, oldest first. The host does not say how many it has: as long as it fills the room that
    /// it is given, it is given twice as much.
    pub fn recent(self, key: u32, window: usize) -> Result<Vec<HrScalarPoint>> {
        let table = self.table::<HistoryTable>()?;
        let mut room = window.min(FIRST_ROOM);
        loop {
            let (mut points, mut count) = (vec![HrScalarPoint::default(); room], 0);
            // SAFETY: the host writes at most `room` points to a row of that length, and one number.
            self.check(unsafe {
                (table.recent)(self.raw(), key, points.as_mut_ptr(), room, &raw mut count)
            })?;
            if count < room || room == window {
                points.truncate(count);
                return Ok(points);
            }
            room = room.saturating_mul(2).min(window);
        }
    }

    /// Keeps outputs of layers; returns the layers' indices.
    pub fn watch_layers(self, pattern: &str) -> Result<Vec<usize>> {
        let table = self.table::<LayerTable>()?;
        let watch = |indices: &mut [usize]| {
            let mut count = 0;
            // SAFETY: the pattern is lent until the call returns; the host writes at most so many indices and one number.
            self.check(unsafe {
                let (row, len) = (indices.as_mut_ptr(), indices.len());
                (table.watch)(self.raw(), HrStr::new(pattern), row, len, &raw mut count)
            })?;
            Ok::<usize, crate::Error>(count)
        };
        let mut indices = vec![0; watch(&mut [])?];
        watch(&mut indices)?;
        Ok(indices)
    }

    /// Reads the tensors at a path, by name.
    pub fn load_tensors(self, path: &str) -> Result<Vec<(String, HrTensor)>> {
        let table = self.table::<NamedTensorTable>()?;
        let count = call!(self, table, load(path) -> usize)?;
        let mut tensors = Vec::with_capacity(count);
        for index in 0..count {
            let (mut name, mut tensor) = (HrStr::EMPTY, HrTensor::NONE);
            // SAFETY: the host writes one text and one handle; the text is copied at once.
            self.check(unsafe { (table.take)(self.raw(), index, &raw mut name, &raw mut tensor) })?;
            // SAFETY: as above.
            tensors.push((unsafe { name.to_lossy() }.into_owned(), tensor));
        }
        Ok(tensors)
    }

    /// The next batch of the pass: input and label.
    pub fn next_of_pass(self) -> Result<Option<[HrTensor; 2]>> {
        let (table, mut batch) = (self.table::<PassTable>()?, [HrTensor::NONE; 2]);
        let [input, label] = &mut batch;
        // SAFETY: the host writes one handle to each place.
        let status = unsafe { (table.next)(self.raw(), input, label) };
        Ok(self.present(status)?.then_some(batch))
    }
}
