//! What models are made of: layers with PyTorch's names, layouts and initial values.

mod activation;
mod attention;
mod batch_norm;
mod conv;
mod embedding;
mod group_norm;
mod layer_norm;
mod linear;

pub use activation::Activation;
pub use attention::{Attention, SelfAttention};
pub use batch_norm::BatchNorm;
pub use conv::{Conv2d, Kernel};
pub use embedding::Embedding;
pub use group_norm::GroupNorm;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
