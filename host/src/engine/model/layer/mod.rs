//! What models are made of: layers with PyTorch's names, layouts and initial values.

mod activation;
mod batch_norm;
mod conv;
mod linear;

pub use activation::Activation;
pub use batch_norm::BatchNorm;
pub use conv::{Conv2d, Kernel};
pub use linear::Linear;
