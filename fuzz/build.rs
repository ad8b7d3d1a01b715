//! Lets the targets find libtorch.

#[path = "../host/torch/link_args.rs"]
mod link_args;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    link_args::print(&link_args::libtorch()?);
    Ok(())
}
