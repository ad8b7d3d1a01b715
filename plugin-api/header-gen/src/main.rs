//! `cargo run -p hookrack-header-gen`: regenerates `plugin-api/include/hookrack.h`.

fn main() -> Result<(), hookrack_header_gen::HeaderError> {
    hookrack_header_gen::refresh().map(drop)
}
