//! Absent tensors in lists: operators over lists skip them.

use super::service::lent;
use hookrack_plugin_api::abi::{ARG_TENSORS, HrArg, HrTensor};

/// The indices at which every list of a call has a tensor.
#[derive(Default)]
pub(super) struct Places {
    // Empty if all have one: the lists are then used unchanged.
    present: Vec<bool>,
    len: usize,
}

impl Places {
    /// Finds the indices of a call that handles its lists index by index. Lists of different lengths are left to libtorch, which
    /// rejects them.
    ///
    /// # Safety
    /// Every list among the arguments is lent.
    pub(super) unsafe fn mark(&mut self, args: &[HrArg]) {
        self.clear();
        // SAFETY: by the contract.
        let handles = |arg: &HrArg| unsafe { lent::<HrTensor>(arg.ptr.cast(), arg.len) };
        let rows = args.iter().filter(|arg| arg.kind == ARG_TENSORS).map(handles);
        let Some(first) = rows.clone().next() else { return };
        if rows.clone().any(|row| row.len() != first.len()) {
            return;
        }
        self.len = first.len();
        if rows.clone().flatten().any(|handle| *handle == HrTensor::NONE) {
            let has_all = |at| rows.clone().all(|row: &[HrTensor]| row[at] != HrTensor::NONE);
            self.present.extend((0..first.len()).map(has_all));
        }
    }

    /// Uses every list unchanged.
    pub(super) fn clear(&mut self) {
        self.present.clear();
        self.len = 0;
    }

    /// Whether rows that belong to these places have fewer in them.
    pub(super) fn thin(&self, len: usize) -> bool {
        !self.present.is_empty() && len == self.len
    }

    /// Whether there is a tensor at a place.
    pub(super) fn has(&self, place: usize) -> bool {
        self.present.get(place).is_none_or(|present| *present)
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether no place has a tensor.
    pub(super) fn is_bare(&self) -> bool {
        self.len == 0 || (!self.present.is_empty() && !self.present.contains(&true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(handles: &[u64]) -> Vec<HrTensor> {
        handles.iter().map(|handle| HrTensor(*handle)).collect()
    }

    fn places(rows: &[&[HrTensor]]) -> Places {
        let arg = |row: &&[HrTensor]| HrArg {
            kind: ARG_TENSORS,
            ptr: row.as_ptr().cast(),
            len: row.len(),
            ..HrArg::NONE
        };
        let args: Vec<_> = rows.iter().map(arg).collect();
        let mut places = Places::default();
        // SAFETY: the rows live until the end of the function.
        unsafe { places.mark(&args) };
        places
    }

    #[test]
    fn a_place_counts_where_every_row_has_a_tensor() {
        let (a, b) = (row(&[1, 0, 3, 4]), row(&[5, 6, 0, 8]));
        let places = places(&[&a, &b]);
        let found: Vec<_> = (0..4).map(|place| places.has(place)).collect();
        assert_eq!(found, [true, false, false, true]);
        assert!(places.thin(4) && !places.thin(3) && !places.is_bare());
    }

    #[test]
    fn whole_rows_are_taken_as_they_are_and_empty_ones_are_bare() {
        let (whole, absent) = (row(&[1, 2]), row(&[0, 0]));
        assert!(!places(&[&whole]).thin(2) && !places(&[&whole]).is_bare());
        assert!(places(&[&absent]).is_bare() && places(&[&[]]).is_bare());
        assert!(places(&[&whole, &absent]).is_bare());
    }
}
