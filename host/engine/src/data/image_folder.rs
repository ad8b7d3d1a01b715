//! `ImageFolder`: PNG and JPEG files, a folder for each class.

use std::ffi::OsStr;
use std::fs;
use std::io::Cursor;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use hookrack_plugin_api::prelude::Settings;
use image::imageops::{FilterType, resize};
use image::{DynamicImage, ImageFormat, ImageReader};

use super::{DataSpec, Dataset, SampleBuffer, Target, check_names, size};
use crate::error::{EngineError, Result};
use crate::registry::Component;

/// Images in a folder per class; each is decoded, resized and scaled to 0..1 when it is loaded.
#[derive(Debug, Clone, Settings)]
pub struct ImageFolderSettings {
    /// Folder with a folder per class, whose sorted names are the classes.
    pub dir: PathBuf,
    /// Height and width to resize all images to.
    #[param(min = 1, max = 65536)]
    pub size: Vec<u32>,
    /// Channels: 3 for RGB, 1 for grayscale.
    #[param(default = 3, min = 1, max = 3)]
    pub channels: u8,
    /// Folders to use as classes, in order; empty for all.
    #[param(default)]
    pub classes: Vec<String>,
}

impl Component<(), dyn Dataset> for ImageFolderSettings {
    const NAME: &'static str = "ImageFolder";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        let &[height, width] = self.size.as_slice() else {
            return Err(Self::refuse(format!(
                "size = {:?}: must be [height, width], such as [224, 224]",
                self.size
            )));
        };
        if self.channels == 2 {
            return Err(Self::refuse("channels = 2: must be 3 (RGB) or 1 (grayscale)"));
        }
        check_names(&self.classes).map_err(|why| Self::refuse_key("classes", why))?;
        let classes = if self.classes.is_empty() { folders(&self.dir)? } else { self.classes };
        if classes.is_empty() {
            return Err(EngineError::Data(format!(
                "{} has no folder: expected one per class",
                self.dir.display()
            )));
        }
        let mut files = Vec::new();
        for (class, name) in classes.iter().enumerate() {
            let found = pictures(&self.dir.join(name))?;
            files.extend(found.into_iter().map(|path| (path, size(class))));
        }
        let is_gray = self.channels == 1;
        Ok(Box::new(ImageFolder { files, classes, height, width, is_gray }))
    }
}

/// Files with their classes.
#[derive(Debug)]
pub struct ImageFolder {
    files: Vec<(PathBuf, i64)>,
    classes: Vec<String>,
    height: u32,
    width: u32,
    is_gray: bool,
}

/// The entries of a folder but hidden ones, sorted: the order must not depend on the file system.
fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let failed =
        |error| EngineError::Data(format!("cannot read folder {}: {error}", dir.display()));
    let entries = fs::read_dir(dir).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
    // `._1.png` beside `1.png` is what a Mac adds to an archive.
    paths.retain(|path| !path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".")));
    paths.sort();
    Ok(paths)
}

fn folders(dir: &Path) -> Result<Vec<String>> {
    let folders = entries(dir)?.into_iter().filter(|path| path.is_dir());
    let names = folders.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    Ok(names.collect())
}

fn pictures(dir: &Path) -> Result<Vec<PathBuf>> {
    let is_picture = |path: &PathBuf| {
        let extension = path.extension().map(OsStr::to_ascii_lowercase);
        extension
            .is_some_and(|extension| ["png", "jpg", "jpeg"].iter().any(|known| extension == *known))
    };
    let found: Vec<_> = entries(dir)?.into_iter().filter(is_picture).collect();
    if found.is_empty() {
        return Err(EngineError::Data(format!(
            "{} has no .png, .jpg or .jpeg file",
            dir.display()
        )));
    }
    Ok(found)
}

fn decode(path: &Path) -> Result<DynamicImage> {
    let failed = |error: &dyn std::fmt::Display| {
        EngineError::Data(format!("{} is not a readable image: {error}", path.display()))
    };
    let bytes = fs::read(path).map_err(|error| failed(&error))?;
    let reader = ImageReader::new(Cursor::new(&bytes)).with_guessed_format();
    let reader = reader.map_err(|error| failed(&error))?;
    if reader.format() == Some(ImageFormat::Jpeg) && !has_jpeg_end(&bytes) {
        return Err(failed(&"it is truncated: the end-of-image marker is missing"));
    }
    reader.decode().map_err(|error| failed(&error))
}

/// Whether a JPEG file has its end: the decoder fills in what is missing of a truncated one.
fn has_jpeg_end(bytes: &[u8]) -> bool {
    let last = |marker: [u8; 2]| bytes.windows(2).rposition(|pair| pair == marker);
    // The end of a thumbnail is before the scans of the image. Scans contain no markers but those of restarts.
    last([0xFF, 0xD9]).is_some_and(|end| last([0xFF, 0xDA]).is_none_or(|scan| scan < end))
}

impl Dataset for ImageFolder {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn spec(&self) -> DataSpec {
        let channels = if self.is_gray { 1 } else { 3 };
        let input = vec![channels, i64::from(self.height), i64::from(self.width)];
        DataSpec { input, target: Target::Classes(size(self.classes.len())) }
    }

    fn class_names(&self) -> &[String] {
        &self.classes
    }

    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        let (path, class) = &self.files[index];
        let picture = decode(path)?;
        let (width, height) = (self.width, self.height);
        if self.is_gray {
            sample.bytes(&resize(&picture.into_luma8(), width, height, FilterType::Triangle));
        } else {
            let picture = resize(&picture.into_rgb8(), width, height, FilterType::Triangle);
            // Pixel by pixel in the file, color by color in a batch.
            let mut bytes = Vec::with_capacity(picture.len());
            for color in 0..3 {
                bytes.extend(picture.iter().skip(color).step_by(3));
            }
            sample.bytes(&bytes);
        }
        sample.class(*class);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::DATASETS;
    use super::*;
    use crate::registry::{Build as _, Choice};
    use hookrack_plugin_api::Value;

    fn open(dir: &Path, channels: i64) -> std::result::Result<Box<dyn Dataset>, String> {
        let size = Value::List(vec![Value::Int(2), Value::Int(4)]);
        let dir = Value::Str(dir.display().to_string());
        let settings = [("dir", dir), ("size", size), ("channels", Value::Int(channels))];
        Choice::new("ImageFolder", &settings).build(DATASETS, &()).map_err(|e| e.to_string())
    }

    fn save(dir: &Path, name: &str, color: [u8; 3], (width, height): (u32, u32)) {
        fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        image::RgbImage::from_pixel(width, height, image::Rgb(color)).save(dir.join(name)).unwrap();
    }

    #[test]
    fn folders_are_classes_and_pictures_come_in_one_size() {
        let dir = tempfile::tempdir().unwrap();
        save(dir.path(), "cat/1.png", [255, 51, 0], (4, 2));
        save(dir.path(), "cat/2.jpg", [128, 128, 128], (9, 9));
        save(dir.path(), "ant/1.png", [0, 0, 255], (1, 1));
        for (folder, name) in [("cat", "notes.txt"), ("cat", "._1.png"), (".cache", "1.png")] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
            fs::write(dir.path().join(folder).join(name), "no picture").unwrap();
        }
        let data = open(dir.path(), 3).unwrap();
        assert_eq!(data.spec(), DataSpec { input: vec![3, 2, 4], target: Target::Classes(2) });
        let batch = data.batch(&[0, 1, 2]).unwrap();
        assert_eq!(Vec::<i64>::try_from(batch.label).unwrap(), [0, 1, 1], "ant comes first");
        let at = |place: &[i64]| batch.input.double_value(place);
        assert!((at(&[1, 0, 1, 3]) - 1.0).abs() < 1e-6 && (at(&[1, 1, 0, 0]) - 0.2).abs() < 1e-6);
        assert!((at(&[2, 2, 1, 1]) - 0.5).abs() < 0.02, "JPEG is not exact");
        let gray = open(dir.path(), 1).unwrap();
        assert_eq!(gray.batch(&[1]).unwrap().input.size(), [1, 1, 2, 4]);
    }

    #[test]
    fn a_truncated_jpeg_is_an_error_and_not_half_an_image() {
        let dir = tempfile::tempdir().unwrap();
        save(dir.path(), "a/1.jpg", [1, 200, 3], (64, 64));
        let path = dir.path().join("a/1.jpg");
        let whole = fs::read(&path).unwrap();
        // What cameras and editors append does not matter.
        fs::write(&path, [&whole[..], b"appended"].concat()).unwrap();
        open(dir.path(), 3).unwrap().batch(&[0]).unwrap();
        for kept in [whole.len() / 2, whole.len() - 2] {
            fs::write(&path, &whole[..kept]).unwrap();
            let error = open(dir.path(), 3).unwrap().batch(&[0]).unwrap_err().to_string();
            assert!(error.contains("a/1.jpg is not a readable image"), "{error}");
        }
        let wanted = "it is truncated: the end-of-image marker is missing";
        let error = open(dir.path(), 3).unwrap().batch(&[0]).unwrap_err().to_string();
        assert!(error.ends_with(wanted), "{error}");
    }

    #[test]
    fn a_file_that_is_not_an_image_is_named() {
        let dir = tempfile::tempdir().unwrap();
        save(dir.path(), "a/1.png", [1, 2, 3], (40, 40));
        let path = dir.path().join("a/1.png");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let error = open(dir.path(), 3).unwrap().batch(&[0]).unwrap_err().to_string();
        assert!(error.contains("a/1.png is not a readable image"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(open(dir.path(), 3).err().unwrap().ends_with("/a has no .png, .jpg or .jpeg file"));
        fs::remove_dir(dir.path().join("a")).unwrap();
        assert!(open(dir.path(), 3).err().unwrap().contains("has no folder"));
    }
}
