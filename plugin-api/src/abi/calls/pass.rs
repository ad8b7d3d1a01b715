//! A hook's own pass over data.

use super::Host;
use crate::abi::{HrTensor, PASS, PassTable};
use crate::error::{Error, Result};

impl Host {
    fn passes(self) -> Result<&'static PassTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        unsafe { self.extension(PASS).cast::<PassTable>().as_ref() }
            .ok_or_else(|| Error::new(format!("this host is older than `{PASS}`")))
    }

    /// Begins a pass.
    pub fn begin_pass(self, phase: u32) -> Result<Option<u64>> {
        self.fill(self.passes()?.begin, phase, 0)
    }

    /// The next batch of the pass: input and label.
    pub fn next_of_pass(self) -> Result<Option<[HrTensor; 2]>> {
        let mut batch = [HrTensor(0); 2];
        let [input, label] = &mut batch;
        // SAFETY: the host writes one handle to each place.
        let status = unsafe { (self.passes()?.next)(self.raw(), input, label) };
        self.present(status, batch)
    }

    /// Runs the model without recording gradients.
    pub fn forward_in(self, input: HrTensor, training: bool) -> Result<HrTensor> {
        let (table, mut output) = (self.passes()?, HrTensor(0));
        // SAFETY: the host writes one handle.
        self.check(unsafe {
            (table.forward)(self.raw(), input, u32::from(training), &raw mut output)
        })?;
        Ok(output)
    }
}
