//! What a run of the program leaves: its output, and its run directory.

use crate::patience::output;
use safetensors::Dtype;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The output of a run of the program, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Ran {
    /// Runs a program to its end.
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        output(command).unwrap().into()
    }

    /// Insists on an exit code.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// What it printed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(self.stdout.trim()).unwrap()
    }

    /// Insists that standard error has each of these.
    #[track_caller]
    pub(crate) fn says(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is not in:\n{}", self.stderr);
        }
        self
    }

    /// Insists that standard output has each of these.
    #[track_caller]
    pub(crate) fn prints(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.stdout.contains(part), "`{part}` is not in:\n{}", self.stdout);
        }
        self
    }
}

/// A run directory.
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
}

impl RunFolder {
    /// `run.json`.
    pub(crate) fn record(&self) -> Json {
        self.json("run.json")
    }

    /// A JSON file of the folder.
    pub(crate) fn json(&self, name: &str) -> Json {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    /// A file of the folder.
    pub(crate) fn text(&self, name: &str) -> String {
        let path = self.path.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The lines of `metrics.json`.
    pub(crate) fn scalars(&self) -> Vec<Json> {
        self.text("metrics.json").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The last value of a scalar.
    pub(crate) fn scalar(&self, name: &str) -> f64 {
        let lines = self.scalars();
        let value = lines.iter().rev().find_map(|line| line.get(name)?.as_f64());
        value.unwrap_or_else(|| panic!("no {name} in {lines:?}"))
    }

    /// Every value of a scalar, in order.
    pub(crate) fn series(&self, name: &str) -> Vec<f64> {
        self.scalars().iter().filter_map(|line| line[name].as_f64()).collect()
    }

    /// Locks the folder as a process that trains in it does.
    pub(crate) fn lock(&self) -> fs::File {
        let lock = fs::File::options().write(true).open(self.path.join(".lock")).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
        lock
    }

    /// What a hook of this name has logged.
    pub(crate) fn said(&self, hook: &str) -> Vec<String> {
        let (log, before) = (self.text("log.txt"), format!(" {hook}: "));
        log.lines().filter_map(|line| Some(line.split_once(&before)?.1.to_owned())).collect()
    }

    /// The names of the checkpoints.
    pub(crate) fn checkpoints(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path.join("checkpoints")) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.starts_with("iter_")).collect();
        names.sort();
        names
    }

    /// The weights of the checkpoint of an iteration.
    pub(crate) fn model(&self, iter: u64) -> HashMap<String, Vec<f32>> {
        self.tensors(&format!("checkpoints/iter_{iter:07}/model.safetensors"))
    }

    /// The tensors of a file of the folder.
    pub(crate) fn tensors(&self, name: &str) -> HashMap<String, Vec<f32>> {
        tensors(&self.path.join(name))
            .into_iter()
            .map(|(name, (_, values))| (name, values))
            .collect()
    }
}

/// Type and numbers of each tensor of 32 or 64 bit floats of a safetensors file; doubles hold both exactly.
pub(crate) fn wide_tensors(path: &Path) -> HashMap<String, (Dtype, Vec<f64>)> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let numbers = |view: &safetensors::tensor::TensorView<'_>| -> Option<Vec<f64>> {
        let data = view.data();
        match view.dtype() {
            Dtype::F32 => {
                Some(data.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect())
            }
            Dtype::F64 => Some(data.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()),
            _ => None,
        }
    };
    let tensors = file.tensors().into_iter();
    tensors.filter_map(|(name, view)| Some((name, (view.dtype(), numbers(&view)?)))).collect()
}

/// Shape and numbers of each tensor of a safetensors file of 32 bit floats.
pub(crate) fn tensors(path: &Path) -> HashMap<String, (Vec<usize>, Vec<f32>)> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let numbers = |data: &[u8]| {
        data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    file.tensors()
        .into_iter()
        .filter(|(_, view)| view.dtype() == Dtype::F32)
        .map(|(name, view)| (name, (view.shape().to_vec(), numbers(view.data()))))
        .collect()
}
