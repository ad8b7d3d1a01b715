//! `Cifar10`: the binary version of CIFAR-10, a label and 3x32x32 bytes for each image.

use std::path::PathBuf;

use hookrack_plugin_api::prelude::Settings;

use super::file_bytes::FileBytes;
use super::{DataSpec, Dataset, SampleBuffer, Target, TrainTest};
use crate::error::Result;
use crate::registry::Component;

const PIXELS: usize = 3 * 32 * 32;
const RECORD: usize = 1 + PIXELS;
const CLASSES: u8 = 10;

/// The binary version of CIFAR-10: `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`; pixels are scaled to 0..1.
#[derive(Debug, Clone, Settings)]
pub struct Cifar10Settings {
    /// The folder with the files.
    pub dir: PathBuf,
    /// The five training files, or the test file.
    #[param(default = TrainTest::Train)]
    pub split: TrainTest,
}

impl Component<(), dyn Dataset> for Cifar10Settings {
    const NAME: &'static str = "Cifar10";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        let names: Vec<String> = match self.split {
            TrainTest::Train => (1..=5).map(|number| format!("data_batch_{number}.bin")).collect(),
            TrainTest::Test => vec!["test_batch.bin".to_owned()],
        };
        let files = names.iter().map(|name| FileBytes::open(&self.dir.join(name)));
        Ok(Box::new(Cifar10::new(files.collect::<Result<_>>()?)?))
    }
}

/// The images of some files, one file after the other.
#[derive(Debug)]
pub struct Cifar10 {
    files: Vec<FileBytes>,
    /// The number of samples up to the end of each file.
    ends: Vec<usize>,
}

impl Cifar10 {
    fn new(files: Vec<FileBytes>) -> Result<Self> {
        let (mut ends, mut end) = (Vec::new(), 0);
        for file in &files {
            let (records, rest) = (file.len() / RECORD, file.len() % RECORD);
            if rest != 0 {
                let why = format!(
                    "{rest} bytes after {records} records of {RECORD}: the file is truncated, or not CIFAR-10"
                );
                return Err(file.wrong(records * RECORD, why));
            }
            let wrong = (0..records).find(|record| file[record * RECORD] >= CLASSES);
            if let Some(record) = wrong {
                let why = format!(
                    "label {} of sample {record}: CIFAR-10 has {CLASSES} classes",
                    file[record * RECORD]
                );
                return Err(file.wrong(record * RECORD, why));
            }
            end += records;
            ends.push(end);
        }
        Ok(Self { files, ends })
    }
}

impl Dataset for Cifar10 {
    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn spec(&self) -> DataSpec {
        DataSpec { input: vec![3, 32, 32], target: Target::Classes(i64::from(CLASSES)) }
    }

    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        let file = self.ends.partition_point(|end| *end <= index);
        let before = if file == 0 { 0 } else { self.ends[file - 1] };
        let start = (index - before) * RECORD;
        let record = &self.files[file][start..start + RECORD];
        sample.class(i64::from(record[0]));
        sample.bytes(&record[1..]);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.files.iter().try_for_each(FileBytes::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(files: &[&[u8]]) -> Result<Cifar10> {
        let folder = tempfile::tempdir().unwrap();
        let open = |(number, bytes): (usize, &&[u8])| {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, bytes).unwrap();
            FileBytes::open(&path)
        };
        Cifar10::new(files.iter().enumerate().map(open).collect::<Result<_>>()?)
    }

    fn record(label: u8, pixel: u8) -> Vec<u8> {
        [vec![label], vec![pixel; PIXELS]].concat()
    }

    #[test]
    fn files_follow_one_another() {
        let first = [record(1, 10), record(2, 20)].concat();
        let data = open(&[&first, &record(3, 30)]).unwrap();
        let batch = data.batch(&[2, 0, 1]).unwrap();
        assert_eq!((data.len(), batch.input.size()), (3, vec![3, 3, 32, 32]));
        assert_eq!(Vec::<i64>::try_from(batch.label).unwrap(), [3, 1, 2]);
        assert!((batch.input.double_value(&[0, 2, 31, 31]) - 30.0 / 255.0).abs() < 1e-7);
    }

    #[test]
    fn what_is_not_cifar_is_reported_with_the_byte() {
        let error = |bytes: &[u8]| open(&[bytes]).unwrap_err().to_string();
        assert!(error(&[record(1, 0), vec![7; 3]].concat()).ends_with(
            "byte 3073: 3 bytes after 1 records of 3073: the file is truncated, or not CIFAR-10"
        ));
        let wrong = error(&[record(1, 0), record(10, 0)].concat());
        assert!(
            wrong.ends_with("byte 3073: label 10 of sample 1: CIFAR-10 has 10 classes"),
            "{wrong}"
        );
    }
}
