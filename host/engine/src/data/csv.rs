//! `Csv`: a table of numbers, one column of which is the label.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ::csv::{ReaderBuilder, StringRecord};
use hookrack_plugin_api::prelude::Settings;

use super::file_bytes::FileBytes;
use super::{DataSpec, Dataset, SampleBuffer, Target, check_names, size};
use crate::error::{EngineError, Result};
use crate::registry::Component;

/// A CSV file with a row per sample: columns of numbers, and a label that is a class or a number.
#[derive(Debug, Clone, Settings)]
pub struct CsvSettings {
    /// The file, plain or gzipped.
    pub path: PathBuf,
    /// Label column: its name, or its index from 0.
    pub label: String,
    /// Input columns, likewise; empty for all others.
    #[param(default)]
    pub columns: Vec<String>,
    /// The first line contains the column names.
    #[param(default = true)]
    pub header: bool,
    /// Column separator.
    #[param(default = ",")]
    pub delimiter: String,
    /// Kind of label: the name of a class, or a number (regression).
    #[param(default = CsvTarget::Classes)]
    pub target: CsvTarget,
    /// Class names, in order; empty for those of the file, sorted, numbers by value.
    #[param(default)]
    pub classes: Vec<String>,
    /// Label to ignore; it is not a class. Default: that of the loss.
    pub ignore_index: Option<i64>,
}

/// What a label of a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub enum CsvTarget {
    /// A class name.
    Classes,
    /// A number.
    Values,
}

impl Component<(), dyn Dataset> for CsvSettings {
    const NAME: &'static str = "Csv";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        let &[delimiter] = self.delimiter.as_bytes() else {
            return Err(Self::refuse(format!(
                "delimiter = {:?}: must be one character, \"\\t\" for a tab",
                self.delimiter
            )));
        };
        if self.target == CsvTarget::Values && !self.classes.is_empty() {
            return Err(Self::refuse("classes requires target = \"classes\""));
        }
        check_names(&self.classes).map_err(|why| Self::refuse_key("classes", why))?;
        Ok(Box::new(Csv::open(&self, delimiter)?))
    }
}

/// The rows of a table.
#[derive(Debug)]
pub struct Csv {
    width: usize,
    inputs: Vec<f32>,
    labels: Labels,
}

#[derive(Debug)]
enum Labels {
    Classes { numbers: Vec<i64>, names: Vec<String>, has_ignored: bool },
    Values(Vec<f32>),
}

impl Csv {
    fn open(settings: &CsvSettings, delimiter: u8) -> Result<Self> {
        let file = FileBytes::open(&settings.path)?;
        let mut reader = ReaderBuilder::new()
            .has_headers(settings.header)
            .delimiter(delimiter)
            .trim(::csv::Trim::All)
            .from_reader(&file[..]);
        let first = reader.headers().map_err(|error| broken(&file, &error))?.clone();
        let (label, columns) = columns(settings, &first)?;
        let (mut inputs, mut labels) = (Vec::new(), Vec::new());
        let mut record = StringRecord::new();
        while reader.read_record(&mut record).map_err(|error| broken(&file, &error))? {
            for column in &columns {
                inputs.push(number(&file, &record, *column)?);
            }
            labels.push((record.get(label).unwrap_or_default().to_owned(), place(&record)));
        }
        if labels.is_empty() {
            return Err(file.wrong(file.len(), "the table has no rows"));
        }
        let labels = match settings.target {
            CsvTarget::Classes => classes(&file, &labels, settings)?,
            CsvTarget::Values => Labels::Values(
                labels.iter().map(|(text, at)| parse(&file, text, *at)).collect::<Result<_>>()?,
            ),
        };
        Ok(Self { width: columns.len(), inputs, labels })
    }
}

fn broken(file: &FileBytes, error: &::csv::Error) -> EngineError {
    let byte = error.position().map_or(0, |at| usize::try_from(at.byte()).unwrap_or(usize::MAX));
    file.wrong(byte, error.to_string())
}

fn place(record: &StringRecord) -> usize {
    record.position().map_or(0, |at| usize::try_from(at.byte()).unwrap_or(usize::MAX))
}

/// The place of the label, and those of the inputs.
fn columns(settings: &CsvSettings, names: &StringRecord) -> Result<(usize, Vec<usize>)> {
    let find = |wanted: &String| {
        let by_name =
            if settings.header { names.iter().position(|name| name == wanted) } else { None };
        let by_number = || wanted.parse().ok().filter(|number| *number < names.len());
        by_name.or_else(by_number).ok_or_else(|| {
            let known = if settings.header {
                format!("there are {}", names.iter().collect::<Vec<_>>().join(", "))
            } else {
                format!("there are 0 to {}", names.len().saturating_sub(1))
            };
            EngineError::Data(format!(
                "{} has no column `{wanted}`: {known}",
                settings.path.display()
            ))
        })
    };
    let label = find(&settings.label)?;
    let columns = settings.columns.iter().map(find).collect::<Result<Vec<_>>>()?;
    if columns.is_empty() {
        return Ok((label, (0..names.len()).filter(|column| *column != label).collect()));
    }
    Ok((label, columns))
}

fn number(file: &FileBytes, record: &StringRecord, column: usize) -> Result<f32> {
    parse(file, record.get(column).unwrap_or_default(), place(record))
}

fn parse(file: &FileBytes, text: &str, at: usize) -> Result<f32> {
    let number: Option<f32> = text.parse().ok();
    number.filter(|number| number.is_finite()).ok_or_else(|| {
        // `inf` is not written with digits.
        let is_large = number.is_some() && text.contains(|c: char| c.is_ascii_digit());
        let what = if is_large { "is too large for a float" } else { "is not a number" };
        file.wrong(at, format!("`{text}` in the row that begins here {what}"))
    })
}

fn classes(file: &FileBytes, labels: &[(String, usize)], settings: &CsvSettings) -> Result<Labels> {
    let (given, ignored) = (&settings.classes, settings.ignore_index);
    // A class that the config lists is never ignored, even if its name is `ignore_index`.
    let is_ignored = |text: &str| {
        ignored.is_some() && text.parse().ok() == ignored && !given.iter().any(|name| name == text)
    };
    let counting = labels.iter().map(|(text, _)| text.as_str()).filter(|text| !is_ignored(text));
    let known: Vec<String> = if given.is_empty() { distinct(counting) } else { given.clone() };
    let mut numbers = Vec::with_capacity(labels.len());
    for (text, at) in labels {
        if let Some(ignored) = ignored.filter(|_| is_ignored(text)) {
            numbers.push(ignored);
            continue;
        }
        let number = known.iter().position(|name| name == text).ok_or_else(|| {
            file.wrong(
                *at,
                format!(
                    "label `{text}` of the row that begins here is not one of classes = {given:?}"
                ),
            )
        })?;
        numbers.push(size(number));
    }
    let has_ignored = labels.iter().any(|(text, _)| is_ignored(text));
    Ok(Labels::Classes { numbers, names: known, has_ignored })
}

/// The distinct names in the table, sorted; integers by value.
fn distinct<'a>(labels: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: BTreeSet<&str> = labels.collect();
    let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    if names.iter().all(|name| name.parse::<i64>().is_ok()) {
        names.sort_by_key(|name| name.parse::<i64>().unwrap_or(0));
    }
    names
}

impl Dataset for Csv {
    fn len(&self) -> usize {
        match &self.labels {
            Labels::Classes { numbers, .. } => numbers.len(),
            Labels::Values(values) => values.len(),
        }
    }

    fn spec(&self) -> DataSpec {
        let target = match &self.labels {
            Labels::Classes { names, .. } => Target::Classes(size(names.len())),
            Labels::Values(_) => Target::Values(vec![1]),
        };
        DataSpec { input: vec![size(self.width)], target }
    }

    fn class_names(&self) -> &[String] {
        match &self.labels {
            Labels::Classes { names, .. } => names,
            Labels::Values(_) => &[],
        }
    }

    fn has_ignored(&self) -> bool {
        matches!(self.labels, Labels::Classes { has_ignored: true, .. })
    }

    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        sample.floats(self.inputs[index * self.width..(index + 1) * self.width].iter().copied());
        match &self.labels {
            Labels::Classes { numbers, .. } => sample.class(numbers[index]),
            Labels::Values(values) => sample.values([values[index]]),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str, change: impl FnOnce(&mut CsvSettings)) -> std::result::Result<Csv, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut settings = CsvSettings {
            path: file.path().to_owned(),
            label: "kind".into(),
            columns: vec![],
            header: true,
            delimiter: ",".into(),
            target: CsvTarget::Classes,
            classes: vec![],
            ignore_index: None,
        };
        change(&mut settings);
        let shown = file.path().display().to_string();
        Csv::open(&settings, settings.delimiter.as_bytes()[0])
            .map_err(|error| error.to_string().replace(&shown, "table"))
    }

    const FLOWERS: &str = "length,kind,width\n1.5,rose,2\n-3,lily,4e1\n0.5,rose,6\n";

    #[test]
    fn columns_are_inputs_and_names_are_classes() {
        let data = open(FLOWERS, |_| ()).unwrap();
        assert_eq!(data.spec(), DataSpec { input: vec![2], target: Target::Classes(2) });
        let batch = data.batch(&[1, 0]).unwrap();
        assert_eq!(Vec::<f32>::try_from(batch.input.view(-1)).unwrap(), [-3.0, 40.0, 1.5, 2.0]);
        assert_eq!(Vec::<i64>::try_from(batch.label).unwrap(), [0, 1], "lily comes before rose");
    }

    #[test]
    fn a_number_may_be_learnt_and_columns_chosen() {
        let data = open(FLOWERS, |settings| {
            (settings.label, settings.target) = ("width".into(), CsvTarget::Values);
            settings.columns = vec!["length".into()];
        });
        let batch = data.unwrap().batch(&[2]).unwrap();
        assert_eq!((batch.input.size(), batch.label.size()), (vec![1, 1], vec![1, 1]));
        assert_eq!(Vec::<f32>::try_from(batch.label.view(-1)).unwrap(), [6.0]);
    }

    #[test]
    fn a_table_without_names_goes_by_numbers() {
        let data = open("1;2;10\n3;4;9\n", |settings| {
            (settings.header, settings.label, settings.delimiter) = (false, "2".into(), ";".into());
        });
        let batch = data.unwrap().batch(&[0, 1]).unwrap();
        assert_eq!(Vec::<i64>::try_from(batch.label).unwrap(), [1, 0], "9 is before 10");
    }

    #[test]
    fn what_is_wrong_is_reported_with_the_byte() {
        let error = |text: &str| open(text, |_| ()).unwrap_err();
        assert_eq!(
            error("length,kind\n1,a\nx,b\n"),
            "data: table, byte 16: `x` in the row that begins here is not a number"
        );
        assert!(
            error("length,kind\n1,a\n2\n").starts_with("data: table, byte 16: "),
            "{}",
            error("length,kind\n1,a\n2\n")
        );
        assert_eq!(
            error("length,sort\n1,a\n"),
            "data: table has no column `kind`: there are length, sort"
        );
        assert_eq!(error("length,kind\n"), "data: table, byte 12: the table has no rows");
        assert!(error("length,kind\nNaN,a\n").contains("`NaN` in the row"));
        assert!(
            error("length,kind\n1e39,a\n")
                .ends_with("`1e39` in the row that begins here is too large for a float")
        );
        assert!(error("length,kind\n-inf,a\n").ends_with("is not a number"));
        let given = open(FLOWERS, |settings| settings.classes = vec!["rose".into()]).unwrap_err();
        assert_eq!(
            given,
            "data: table, byte 29: label `lily` of the row that begins here is not one of classes = [\"rose\"]"
        );
    }
}
