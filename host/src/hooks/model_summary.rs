//! `ModelSummary`: the parameters of a model, and the cost of a forward pass.

use hookrack_plugin_api::prelude::*;
use std::fmt::Write as _;

/// Logs a table of the model's parameters with shapes and memory, and the operation count of a forward pass.
#[derive(Settings)]
pub(super) struct ModelSummary {
    /// Maximum number of rows in the table; the rest are only counted.
    #[param(default = 100)]
    max_rows: usize,
    /// Profile the first forward pass to count its floating point operations.
    #[param(default = true)]
    flops: bool,
    #[param(skip)]
    is_counting: bool,
    #[param(skip)]
    is_done: bool,
}

/// A parameter or buffer.
struct LayerRow {
    name: String,
    shape: Vec<i64>,
    bytes: u64,
}

impl LayerRow {
    fn of(name: String, tensor: &Tensor) -> Result<Self> {
        let shape = tensor.shape()?;
        let count: i64 = shape.iter().product();
        let bytes = u64::from(tensor.dtype()?.bits) / 8 * count.unsigned_abs();
        Ok(Self { name, shape, bytes })
    }

    fn numbers(&self) -> u64 {
        self.shape.iter().map(|size| size.unsigned_abs()).product()
    }
}

/// `12,345,678`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1.5 GFLOP`, with the unit that fits.
fn operations(flops: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let mut value = flops as f64;
    for unit in ["FLOP", "kFLOP", "MFLOP", "GFLOP"] {
        if value < 1000.0 {
            return format!("{value:.3} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.3} TFLOP")
}

fn table(params: &[LayerRow], buffers: &[LayerRow], most: usize) -> String {
    let width = params.iter().map(|row| row.name.len()).max().unwrap_or(0).max(9);
    let mut out = format!("\n{:<width$}  {:<20} {:>14}\n", "parameter", "shape", "numbers");
    for row in params.iter().take(most) {
        let shape = format!("{:?}", row.shape);
        _ = writeln!(out, "{:<width$}  {shape:<20} {:>14}", row.name, grouped(row.numbers()));
    }
    if params.len() > most {
        _ = writeln!(out, "and {} more", params.len() - most);
    }
    let numbers: u64 = params.iter().map(LayerRow::numbers).sum();
    let bytes = |rows: &[LayerRow]| rows.iter().map(|row| row.bytes).sum::<u64>();
    _ = write!(
        out,
        "{} parameters in {} tensors: {} bytes, and as many for gradients; {} bytes of buffers",
        grouped(numbers),
        params.len(),
        grouped(bytes(params)),
        grouped(bytes(buffers)),
    );
    out
}

fn listed(names: Vec<String>, tensors: &impl AsTensors) -> Result<Vec<LayerRow>> {
    names
        .into_iter()
        .zip(tensors.iter())
        .map(|(name, tensor)| LayerRow::of(name, &tensor))
        .collect()
}

impl ModelSummary {
    /// One profile at a time: skipped while another one is being recorded.
    fn start_counting(&mut self, t: &mut Trainer) {
        if self.flops && !self.is_done {
            let options = ProfileOptions { flops: true, ..ProfileOptions::default() };
            self.is_counting = t.start_profile(options).is_ok();
        }
        self.is_done = true;
    }

    fn stop_counting(&mut self, t: &mut Trainer) -> Result<()> {
        if !std::mem::take(&mut self.is_counting) {
            return Ok(());
        }
        let flops: u64 = t.stop_profile(None)?.iter().map(|cost| cost.flops).sum();
        let (samples, (_, micros)) = (t.batch_size(), t.micro_batch());
        info!(
            "a forward pass of {} samples takes {} (products and convolutions), {} per sample",
            samples.div_ceil(u64::from(micros.max(1))),
            operations(flops),
            operations(flops * u64::from(micros.max(1)) / samples.max(1)),
        );
        Ok(())
    }
}

#[hook(level = HIGHEST, ranks = "main", reads = "params")]
impl Hook for ModelSummary {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        let params = listed(t.param_names()?, &t.params())?;
        let buffers = listed(t.buffer_names()?, &t.buffers())?;
        info!("{}", table(&params, &buffers, self.max_rows));
        Ok(())
    }

    fn before_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.start_counting(t);
        Ok(())
    }

    fn after_forward(&mut self, t: &mut Trainer) -> Result<()> {
        self.stop_counting(t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_each_parameter_and_the_sums() {
        let row = |name: &str, shape: &[i64]| {
            let bytes = 4 * shape.iter().product::<i64>().unsigned_abs();
            LayerRow { name: name.into(), shape: shape.to_vec(), bytes }
        };
        let params = [row("net.0.weight", &[64, 784]), row("net.0.bias", &[64])];
        let text = table(&params, &[row("mean", &[8])], 1);
        assert!(text.contains("net.0.weight  [64, 784]                    50,176"), "{text}");
        assert!(
            text.contains("and 1 more\n50,240 parameters in 2 tensors: 200,960 bytes"),
            "{text}"
        );
        assert!(text.ends_with("32 bytes of buffers"), "{text}");
    }

    #[test]
    fn numbers_are_grouped_and_operations_have_a_unit() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(operations(2_500_000), "2.500 MFLOP");
        assert_eq!(operations(12), "12.000 FLOP");
        assert_eq!(operations(3_000_000_000_000), "3.000 TFLOP");
    }
}
