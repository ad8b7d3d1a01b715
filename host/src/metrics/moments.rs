//! Means, variances and covariances of outputs and labels, accurate in any order of batches.

use super::numbers::Paired;
use hookrack_plugin_api::prelude::*;

/// The number of saved values per column.
const SAVED: usize = 7;

/// One column: sums of squares around the means, which lose no digits to large means, as plain sums would.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Column {
    count: f64,
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
    /// The sum of squared differences between output and label.
    residual: f64,
}

impl Column {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        let (dx, dy) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += dx / self.count;
        self.mean_y += dy / self.count;
        self.xx += dx * (x - self.mean_x);
        self.yy += dy * (y - self.mean_y);
        self.xy += dx * (y - self.mean_y);
        self.residual += (x - y) * (x - y);
    }

    fn merge(&mut self, other: Self) {
        let count = self.count + other.count;
        if other.count <= 0.0 {
            return;
        }
        let (dx, dy) = (other.mean_x - self.mean_x, other.mean_y - self.mean_y);
        let weight = self.count * other.count / count;
        self.xx += other.xx + dx * dx * weight;
        self.yy += other.yy + dy * dy * weight;
        self.xy += other.xy + dx * dy * weight;
        self.mean_x += dx * other.count / count;
        self.mean_y += dy * other.count / count;
        self.residual += other.residual;
        self.count = count;
    }

    /// The explained fraction of the labels' variance, as in scikit-learn: without variance, 1 if
    /// all outputs are exact, else 0; NaN for fewer than two samples.
    pub(super) fn r2(self) -> f64 {
        match self {
            _ if self.count < 2.0 => f64::NAN,
            _ if self.yy > 0.0 || self.residual.is_nan() => 1.0 - self.residual / self.yy,
            _ if self.residual > 0.0 => 0.0,
            _ => 1.0,
        }
    }

    /// The correlation; NaN if outputs or labels do not vary.
    pub(super) fn pearson(self) -> f64 {
        if self.xx > 0.0 && self.yy > 0.0 {
            (self.xy / (self.xx.sqrt() * self.yy.sqrt())).clamp(-1.0, 1.0)
        } else {
            f64::NAN
        }
    }
}

/// The moments of pairs of numbers.
pub(super) fn of_pairs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Column {
    let mut column = Column::default();
    pairs.into_iter().for_each(|(x, y)| column.add(x, y));
    column
}

/// The moments of each column of a pass.
#[derive(Default)]
pub(super) struct Moments {
    columns: Vec<Column>,
}

impl Moments {
    /// Adds a batch. It is merged like that of another rank, so that the last bit does not depend on the rank.
    pub(super) fn add(&mut self, batch: Paired<'_>) -> Result<()> {
        self.widen(batch.columns)?;
        let mut own = vec![Column::default(); batch.columns];
        for (index, (x, y)) in batch.iter().enumerate() {
            own[index % batch.columns].add(x, y);
        }
        self.columns.iter_mut().zip(own).for_each(|(column, own)| column.merge(own));
        Ok(())
    }

    fn widen(&mut self, columns: usize) -> Result<()> {
        if self.columns.is_empty() {
            self.columns.resize(columns, Column::default());
        }
        let before = self.columns.len();
        ensure!(before == columns, "a batch has {columns} columns, earlier ones had {before}");
        Ok(())
    }

    /// The mean of a value over the columns.
    pub(super) fn mean_of(&self, value: fn(Column) -> f64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer columns than 2^53")]
        let count = self.columns.len() as f64;
        self.columns.iter().map(|column| value(*column)).sum::<f64>() / count
    }

    pub(super) fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        let saved = other.value::<Vec<f64>>("columns")?;
        if saved.is_empty() {
            return Ok(());
        }
        self.widen(saved.len() / SAVED)?;
        let (rows, _) = saved.as_chunks::<SAVED>();
        for (column, &[count, mean_x, mean_y, xx, yy, xy, residual]) in
            self.columns.iter_mut().zip(rows)
        {
            column.merge(Column { count, mean_x, mean_y, xx, yy, xy, residual });
        }
        Ok(())
    }

    pub(super) fn save(&self, state: &mut StateWriter<'_>) -> Result<()> {
        let numbers = |c: &Column| [c.count, c.mean_x, c.mean_y, c.xx, c.yy, c.xy, c.residual];
        state.put("columns", self.columns.iter().flat_map(numbers).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_halves_merge_into_the_whole() {
        let pairs = [(1.0, 2.0), (2.0, 2.5), (4.0, 3.0), (8.0, 7.5), (9.0, 9.0)];
        let whole = of_pairs(pairs);
        let mut merged = of_pairs(pairs[..2].iter().copied());
        merged.merge(of_pairs(pairs[2..].iter().copied()));
        merged.merge(Column::default());
        assert!((merged.r2() - whole.r2()).abs() < 1e-12);
        assert!((merged.pearson() - whole.pearson()).abs() < 1e-12);
    }

    #[test]
    fn a_large_mean_costs_no_digits() {
        let far = |x: f64| x + 1e9;
        let pairs = [(1.0, 2.0), (2.0, 2.5), (4.0, 3.0), (8.0, 7.5)];
        let near = of_pairs(pairs);
        let moved = of_pairs(pairs.map(|(x, y)| (far(x), far(y))));
        assert!((near.pearson() - moved.pearson()).abs() < 1e-7);
    }
}
