//! What a checkpoint holds, from its manifest and the headers of its files: no tensor is loaded.

use super::exit::Failure;
use crate::run::checkpoint::Manifest;
use crate::run::{json_file, safetensors_file};
use serde_json::Value as Json;
use std::path::Path;

/// Prints what a checkpoint holds.
pub(super) fn print(path: &Path) -> Result<(), Failure> {
    let manifest = Manifest::read(path)?;
    let state: Json = json_file::read(&path.join("state.json"))?;
    say!("checkpoint {}", path.display());
    let position = &state["position"];
    say!("  epoch       {}", position["epoch"]);
    say!("  iteration   {} ({} in the epoch)", position["iter"], position["inner_iter"]);
    say!("  samples     {}", position["samples"]);
    let provenance = &state["provenance"];
    let text = |key: &str| provenance[key].as_str().unwrap_or("unknown").to_owned();
    say!(
        "  hookrack    {}, libtorch {}, {} threads",
        text("hookrack"),
        text("libtorch"),
        provenance["threads"]
    );
    if !manifest.about.asked_by.is_empty() {
        say!("  requested by {}", manifest.about.asked_by.join(", "));
    }
    for (name, value) in &manifest.about.metrics {
        say!("  {name:<11} {value}");
    }
    for library in provenance["libraries"].as_array().into_iter().flatten() {
        let text = |key: &str| library[key].as_str().unwrap_or_default().to_owned();
        say!("  library     {} {} {}", text("name"), text("version"), text("sha256"));
    }
    for (hook, values) in state["hooks"].as_object().into_iter().flatten() {
        say!("  state of    {hook}: {}", keys(values));
    }
    for hook in state["without"].as_array().into_iter().flatten().filter_map(Json::as_str) {
        say!("  state of    {hook}: could not be saved");
    }
    for (file, bytes) in manifest.files() {
        say!("\n{file}  {bytes} bytes");
        if file.ends_with(".safetensors") {
            for line in safetensors_file::describe(&path.join(file))? {
                say!("  {line}");
            }
        }
    }
    Ok(())
}

fn keys(values: &Json) -> String {
    let keys: Vec<_> =
        values.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    if keys.is_empty() { "tensors alone".to_owned() } else { keys.join(", ") }
}
