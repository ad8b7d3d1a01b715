//! Readers of data sets: the first and the last sample of whatever opens are read.

use super::{Folder, Prepared, Reader, bytes, repository, texts};
use hookrack::engine::data::{
    Cifar10Settings, CsvSettings, CsvTarget, Dataset, IdxImagesSettings, ImageFolderSettings,
    NpySettings, NpzSettings, SafetensorsSettings, Split, TextSettings, TokensSettings, TrainTest,
    Unit,
};
use hookrack::engine::registry::Component;
use image::{DynamicImage, ImageFormat, RgbaImage};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

pub(crate) const READERS: &[Reader] = &[
    Reader { name: "cifar10", make: cifar10 },
    Reader { name: "csv", make: csv },
    Reader { name: "csv-numbers", make: csv_numbers },
    Reader { name: "gzip", make: gzip },
    Reader { name: "idx", make: idx },
    Reader { name: "image", make: image },
    Reader { name: "npy", make: npy },
    Reader { name: "npz", make: npz },
    Reader { name: "safetensors", make: safetensors },
    Reader { name: "text", make: text },
    Reader { name: "tokens", make: tokens },
];

/// A batch of this many elements is not made: a small file may describe large samples.
const MOST_ELEMENTS: i64 = 1 << 24;

fn golden<const N: usize>(files: [&str; N]) -> Vec<Vec<u8>> {
    let folder = repository().join("host/engine/src/data/golden");
    bytes(files.map(|file| folder.join(file)))
}

fn bad_data(file: &str) -> PathBuf {
    repository().join("tests/fixtures/bad_data/data").join(file)
}

/// A data set whose settings contain the path of the input.
fn reader<S: Component<(), dyn Dataset>>(
    folder: Folder,
    seeds: Vec<Vec<u8>>,
    settings: impl Fn(PathBuf) -> S + 'static,
) -> Prepared {
    let read = move |input: &[u8]| look(settings(folder.input(input)));
    Prepared { seeds, read: Box::new(read) }
}

/// Opens a data set, reads its description, and its first and last sample.
fn look(settings: impl Component<(), dyn Dataset>) -> Result<(), String> {
    let text = |error: hookrack::engine::EngineError| error.to_string();
    let data = settings.build(&()).map_err(text)?;
    data.check().map_err(text)?;
    let elements = data.spec().input.iter().try_fold(1_i64, |count, side| count.checked_mul(*side));
    let is_small = elements.is_some_and(|count| count <= MOST_ELEMENTS);
    if let (Some(last), true) = (data.len().checked_sub(1), is_small) {
        let batch = data.batch(&[0, last]).map_err(text)?;
        assert_eq!(batch.rows(), 2);
        assert_eq!(batch.input.size()[1..], data.spec().input);
    }
    Ok(())
}

fn npy(folder: Folder) -> Prepared {
    let files =
        ["x_f4.npy", "x_f8.npy", "x_u1.npy", "y_i8.npy", "x_fortran.npy", "v_f8.npy", "x_c8.npy"];
    let labels = repository().join("host/engine/src/data/golden/y_i8.npy");
    reader(folder, golden(files), move |inputs| {
        let (classes, ignore_index) = (None, None);
        NpySettings { inputs, labels: labels.clone(), classes, ignore_index }
    })
}

fn npz(folder: Folder) -> Prepared {
    reader(folder, golden(["arrays.npz", "tokens.npz"]), |path| {
        let [inputs, labels] = ["x", "y"].map(str::to_owned);
        NpzSettings { path, inputs, labels, classes: None, ignore_index: None }
    })
}

fn safetensors(folder: Folder) -> Prepared {
    reader(folder, golden(["arrays.safetensors"]), |path| {
        let [inputs, labels] = ["inputs", "labels"].map(str::to_owned);
        SafetensorsSettings { path, inputs, labels, classes: None, ignore_index: None }
    })
}

fn table(path: PathBuf, target: CsvTarget) -> CsvSettings {
    CsvSettings {
        path,
        label: "label".to_owned(),
        columns: Vec::new(),
        header: true,
        delimiter: ",".to_owned(),
        target,
        classes: Vec::new(),
        ignore_index: None,
    }
}

fn csv(folder: Folder) -> Prepared {
    let seeds = [
        "a,b,label\n1,2,yes\n3,4.5,no\n",
        "1;2;3\n4;5;6\n",
        "\"x\",\"la\"\"bel\"\n1,\"2\"\n",
        "label,x\r\n\"a\nb\",-1e-3\r\n",
    ];
    reader(folder, texts(seeds), |path| table(path, CsvTarget::Classes))
}

fn csv_numbers(folder: Folder) -> Prepared {
    let seeds = ["a,b,label\n1,2,0.5\n3,4.5,-1e9\n", "label,a\nnan,1\ninf,2\n"];
    reader(folder, texts(seeds), |path| table(path, CsvTarget::Values))
}

fn pictures(images: PathBuf, labels: &Path) -> IdxImagesSettings {
    IdxImagesSettings {
        dir: None,
        split: TrainTest::Train,
        images: Some(images),
        labels: Some(labels.to_owned()),
        classes: None,
        ignore_index: None,
    }
}

fn idx(folder: Folder) -> Prepared {
    let images = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2][..], &[7; 8]].concat();
    let labels = [0, 0, 8, 1, 0, 0, 0, 2, 0, 1];
    let own = folder.write("labels", &labels);
    reader(folder, vec![images, labels.to_vec()], move |path| pictures(path, &own))
}

fn gzip(folder: Folder) -> Prepared {
    let labels = bad_data("six-labels");
    let packed = ["six-images.gz", "flipped-labels.gz"].map(bad_data);
    reader(folder, bytes(packed), move |path| pictures(path, &labels))
}

fn tokens(folder: Folder) -> Prepared {
    let plain = ["tokens_i2.npy", "tokens_u4.npy", "tokens_i8.npy", "tokens.npz"];
    let seeds = [golden(plain), bytes([bad_data("tokens.npy")])].concat();
    reader(folder, seeds, |path| TokensSettings {
        path,
        array: None,
        context: 3,
        stride: None,
        vocab: None,
        split: Split::All,
        val_share: 0.1,
    })
}

fn text(folder: Folder) -> Prepared {
    reader(folder, texts(["To be, or not to be", "na\u{ef}ve \u{1f980}\r\n"]), |path| {
        TextSettings {
            path,
            context: 3,
            stride: Some(2),
            unit: Unit::Chars,
            vocabulary: None,
            split: Split::All,
            val_share: 0.1,
        }
    })
}

fn cifar10(folder: Folder) -> Prepared {
    let record = |label: u8| [vec![label], vec![128; 3072]].concat();
    let seeds = vec![record(3), [record(0), record(9)].concat()];
    let read = move |input: &[u8]| {
        folder.write("test_batch.bin", input);
        look(Cifar10Settings { dir: folder.path(""), split: TrainTest::Test })
    };
    Prepared { seeds, read: Box::new(read) }
}

fn image(folder: Folder) -> Prepared {
    fs::create_dir(folder.path("class")).unwrap();
    let colours: Vec<u8> = (0..=255).cycle().take(10 * 9 * 4).collect();
    let picture = DynamicImage::from(RgbaImage::from_raw(10, 9, colours).unwrap());
    let packed = |picture: DynamicImage, format| {
        let mut packed = Cursor::new(Vec::new());
        picture.write_to(&mut packed, format).unwrap();
        packed.into_inner()
    };
    let seeds = vec![
        packed(picture.clone(), ImageFormat::Png),
        packed(picture.to_luma16().into(), ImageFormat::Png),
        packed(picture.to_luma8().into(), ImageFormat::Jpeg),
        packed(picture.to_rgb8().into(), ImageFormat::Jpeg),
    ];
    let read = move |input: &[u8]| {
        // The format is recognized by the contents.
        folder.write("class/input.png", input);
        let (size, classes) = (vec![2, 3], Vec::new());
        look(ImageFolderSettings { dir: folder.path(""), size, channels: 3, classes })
    };
    Prepared { seeds, read: Box::new(read) }
}
