//! `cargo run -p hookrack-header-gen`: writes `plugin-api/include/hookrack.h` anew.

fn main() -> Result<(), hookrack_header_gen::HeaderError> {
    hookrack_header_gen::refresh().map(drop)
}
