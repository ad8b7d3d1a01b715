//! Lets the test program find libtorch, which it needs because it links the host's library.

#[path = "../host/torch/link_args.rs"]
mod link_args;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    link_args::print(&link_args::libtorch()?);
    Ok(())
}
