//! `IdxImages`: MNIST, Fashion-MNIST and other data in the same format.

use std::path::{Path, PathBuf};

use hookrack_plugin_api::prelude::Settings;

use super::idx_file::IdxFile;
use super::{DataSpec, Dataset, SampleBuffer, Target, TrainTest, size};
use crate::error::Result;
use crate::registry::Component;

/// Images and labels in two IDX files, the format of MNIST and Fashion-MNIST, plain or gzipped; pixels are scaled to
/// 0..1.
#[derive(Debug, Clone, Settings)]
pub struct IdxImagesSettings {
    /// Folder with the four files of MNIST, `train-images-idx3-ubyte` and so on, with or without `.gz`.
    pub dir: Option<PathBuf>,
    /// The two training files, or the two test files.
    #[param(default = TrainTest::Train)]
    pub split: TrainTest,
    /// File of the images, instead of `dir`.
    pub images: Option<PathBuf>,
    /// File of the labels, instead of `dir`.
    pub labels: Option<PathBuf>,
    /// Number of classes. Default: one more than the largest label.
    #[param(min = 1)]
    pub classes: Option<i64>,
    /// Label to ignore; it may be out of range. Default: that of the loss.
    pub ignore_index: Option<i64>,
}

impl Component<(), dyn Dataset> for IdxImagesSettings {
    const NAME: &'static str = "IdxImages";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        let (images, labels) = match (&self.dir, self.images, self.labels) {
            (Some(dir), None, None) => {
                let name = if self.split == TrainTest::Train { "train" } else { "t10k" };
                let file = |rest| plain_or_gzipped(dir, &format!("{name}-{rest}"));
                (file("images-idx3-ubyte"), file("labels-idx1-ubyte"))
            }
            (None, Some(images), Some(labels)) => (images, labels),
            (Some(_), ..) => {
                return Err(Self::refuse("dir replaces images and labels: remove them"));
            }
            _ => return Err(Self::refuse("set dir, or images and labels")),
        };
        Ok(Box::new(IdxImages::open(&images, &labels, self.classes, self.ignore_index)?))
    }
}

/// The gzipped file, if only that one exists.
fn plain_or_gzipped(dir: &Path, name: &str) -> PathBuf {
    let (plain, gzipped) = (dir.join(name), dir.join(format!("{name}.gz")));
    if !plain.exists() && gzipped.exists() { gzipped } else { plain }
}

/// The samples of one pair of files.
#[derive(Debug)]
pub struct IdxImages {
    images: IdxFile,
    labels: IdxFile,
    classes: i64,
    has_ignored: bool,
}

impl IdxImages {
    /// Opens both files and checks them against each other, every label included. `ignored` labels may have any
    /// number.
    pub fn open(
        images: &Path,
        labels: &Path,
        classes: Option<i64>,
        ignored: Option<i64>,
    ) -> Result<Self> {
        let (images, labels) = (IdxFile::open(images)?, IdxFile::open(labels)?);
        check_sides(&images, &labels)?;
        let is_ignored = |label: &u8| Some(i64::from(*label)) == ignored;
        let counting = labels.bytes().iter().enumerate().filter(|(_, label)| !is_ignored(label));
        let largest = counting.clone().map(|(_, label)| *label).max().unwrap_or(0);
        let classes = classes.unwrap_or(i64::from(largest) + 1);
        let wrong = counting.into_iter().find(|(_, label)| i64::from(**label) >= classes);
        if let Some((place, label)) = wrong {
            let why = format!(
                "label {label} of sample {place} does not match classes = {classes}; the largest label is {largest}"
            );
            return Err(labels.wrong(place, why));
        }
        let has_ignored = labels.bytes().iter().any(is_ignored);
        Ok(Self { images, labels, classes, has_ignored })
    }
}

/// Whether both files have the expected dimensions.
fn check_sides(images: &IdxFile, labels: &IdxFile) -> Result<()> {
    if !matches!(images.sides.len(), 3 | 4) {
        let why =
            format!("shape {:?} is not that of images: expected 3 or 4 dimensions", images.sides);
        return Err(images.wrong(0, why));
    }
    if labels.sides.len() != 1 {
        let why = format!("shape {:?} is not that of labels: expected 1 dimension", labels.sides);
        return Err(labels.wrong(0, why));
    }
    if images.len() != labels.len() {
        let why = format!(
            "{} labels, but {} images in {}: the two files do not belong together",
            labels.len(),
            images.len(),
            images.path().display()
        );
        return Err(labels.wrong(0, why));
    }
    Ok(())
}

impl Dataset for IdxImages {
    fn len(&self) -> usize {
        self.images.len()
    }

    fn spec(&self) -> DataSpec {
        let sides = self.images.sides[1..].iter().map(|side| size(*side));
        // Gray images have one channel.
        let channel = (self.images.sides.len() == 3).then_some(1);
        let input = channel.into_iter().chain(sides).collect();
        DataSpec { input, target: Target::Classes(self.classes) }
    }

    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        sample.bytes(self.images.sample(index));
        sample.class(self.labels.sample(index).first().copied().map_or(0, i64::from));
        Ok(())
    }

    fn has_ignored(&self) -> bool {
        self.has_ignored
    }

    fn check(&self) -> Result<()> {
        self.images.check()?;
        self.labels.check()
    }
}

#[cfg(test)]
mod tests {
    use super::super::file_bytes::tests::gzipped;
    use super::*;

    /// An IDX file of bytes that count up from 0.
    fn idx(sides: &[u32]) -> Vec<u8> {
        let mut file = vec![0, 0, 8, u8::try_from(sides.len()).unwrap()];
        file.extend(sides.iter().flat_map(|side| side.to_be_bytes()));
        file.extend((0..sides.iter().product::<u32>()).map(|i| u8::try_from(i % 256).unwrap()));
        file
    }

    fn open(
        images: &[u8],
        labels: &[u8],
        classes: Option<i64>,
    ) -> std::result::Result<IdxImages, String> {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["images", "labels"].map(|name| folder.path().join(name));
        std::fs::write(&a, images).unwrap();
        std::fs::write(&b, labels).unwrap();
        let shown = format!("{}/", folder.path().display());
        IdxImages::open(&a, &b, classes, None)
            .map_err(|error| error.to_string().replace(&shown, ""))
    }

    #[test]
    fn plain_and_gzipped_files_give_the_same_samples() {
        let (images, labels) = (idx(&[5, 2, 3]), idx(&[5]));
        let plain = open(&images, &labels, None).unwrap();
        let packed = open(&gzipped(&images), &gzipped(&labels), None).unwrap();
        assert_eq!(plain.spec(), DataSpec { input: vec![1, 2, 3], target: Target::Classes(5) });
        let [plain, packed] = [plain, packed].map(|data| data.batch(&[4, 1]).unwrap());
        assert_eq!((&plain.input, &plain.label), (&packed.input, &packed.label));
        assert_eq!(plain.input.size(), [2, 1, 2, 3]);
        assert!((plain.input.double_value(&[0, 0, 1, 2]) - 29.0 / 255.0).abs() < 1e-7);
        assert_eq!(Vec::<i64>::try_from(plain.label).unwrap(), [4, 1]);
    }

    #[test]
    fn colored_images_have_their_channels() {
        let data = open(&idx(&[2, 3, 4, 4]), &idx(&[2]), Some(7)).unwrap();
        assert_eq!(data.spec(), DataSpec { input: vec![3, 4, 4], target: Target::Classes(7) });
    }

    #[test]
    fn files_that_are_not_whole_are_refused_with_the_byte() {
        let (images, labels) = (idx(&[5, 2, 3]), idx(&[5]));
        let error = |images: &[u8], labels: &[u8]| open(images, labels, None).unwrap_err();
        assert_eq!(
            error(&images[..40], &labels),
            "data: images, byte 40: the file ends here, but shape [5, 2, 3] needs 46 bytes: download or copy it again"
        );
        assert_eq!(
            error(&images[..9], &labels),
            "data: images, byte 9: the file ends within its header: download or copy it again"
        );
        assert_eq!(
            error(&[&images[..], b"x"].concat(), &labels),
            "data: images, byte 46: shape [5, 2, 3] ends here, but the file continues to byte 47"
        );
        assert_eq!(error(&images, b""), "data: labels, byte 0: the file is empty");
        assert_eq!(
            error(&images, b"PK34"),
            "data: labels, byte 0: not an IDX file: it must begin with two zero bytes"
        );
        assert_eq!(
            error(&idx(&[0, 2, 3]), &labels),
            "data: images, byte 4: shape [0, 2, 3]: the file has no sample"
        );
        let huge = [0, 0, 8, 3].into_iter().chain([255; 12]).collect::<Vec<u8>>();
        assert!(error(&huge, &labels).contains("does not fit into memory"));
        assert_eq!(
            error(&[0, 0, 13, 1, 0, 0, 0, 1, 0], &labels),
            "data: images, byte 2: an IDX file of type 13 with 1 dimensions: only bytes (type 8) are supported"
        );
    }

    #[test]
    fn files_that_do_not_belong_together_are_refused() {
        let (images, labels) = (idx(&[5, 2, 3]), idx(&[5]));
        let error =
            |images: &[u8], labels: &[u8], classes| open(images, labels, classes).unwrap_err();
        assert_eq!(
            error(&images, &idx(&[4]), None),
            "data: labels, byte 8: 4 labels, but 5 images in images: the two files do not belong together"
        );
        assert!(error(&labels, &images, None).contains("shape [5] is not that of images"));
        assert_eq!(
            error(&images, &labels, Some(3)),
            "data: labels, byte 11: label 3 of sample 3 does not match classes = 3; the largest label is 4"
        );
    }
}
