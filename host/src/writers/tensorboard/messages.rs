//! The protobuf messages of TensorBoard's event files, as far as they are written here.
//!
//! Derived by hand from `event.proto`, `summary.proto` and `tensor.proto` of TensorBoard: a number is a field's tag
//! there. Fields that are never written are left out.

use prost::{Enumeration, Message, Oneof};

/// One record of an event file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    pub wall_time: f64,
    #[prost(int64, tag = "2")]
    pub step: i64,
    #[prost(oneof = "What", tags = "3, 5, 7")]
    pub what: Option<What>,
}

/// What a record is about.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum What {
    #[prost(string, tag = "3")]
    FileVersion(String),
    #[prost(message, tag = "5")]
    Summary(Summary),
    #[prost(message, tag = "7")]
    SessionLog(SessionLog),
}

/// A session began or ended. A start at a step makes readers discard later events.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SessionLog {
    #[prost(enumeration = "SessionStatus", tag = "1")]
    pub status: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(super) enum SessionStatus {
    Unspecified = 0,
    Start = 1,
}

/// Values of one step.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Summary {
    #[prost(message, repeated, tag = "1")]
    pub value: Vec<Value>,
}

/// One value under a name.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Value {
    #[prost(string, tag = "1")]
    pub tag: String,
    #[prost(message, optional, tag = "9")]
    pub metadata: Option<Metadata>,
    #[prost(oneof = "Shown", tags = "2, 4, 5, 8")]
    pub shown: Option<Shown>,
}

/// What is shown.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Shown {
    #[prost(float, tag = "2")]
    Scalar(f32),
    #[prost(message, tag = "4")]
    Image(Image),
    #[prost(message, tag = "5")]
    Histogram(Histogram),
    #[prost(message, tag = "8")]
    Tensor(Tensor),
}

/// An encoded image.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Image {
    #[prost(int32, tag = "1")]
    pub height: i32,
    #[prost(int32, tag = "2")]
    pub width: i32,
    /// 1 gray, 3 color, 4 color with opacity.
    #[prost(int32, tag = "3")]
    pub colorspace: i32,
    #[prost(bytes = "vec", tag = "4")]
    pub encoded: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Histogram {
    #[prost(double, tag = "1")]
    pub min: f64,
    #[prost(double, tag = "2")]
    pub max: f64,
    #[prost(double, tag = "3")]
    pub num: f64,
    #[prost(double, tag = "4")]
    pub sum: f64,
    #[prost(double, tag = "5")]
    pub sum_squares: f64,
    #[prost(double, repeated, tag = "6")]
    pub bucket_limit: Vec<f64>,
    #[prost(double, repeated, tag = "7")]
    pub bucket: Vec<f64>,
}

/// A list of strings, the only tensor written here.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    /// 7 for texts.
    #[prost(int32, tag = "1")]
    pub dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<Shape>,
    #[prost(bytes = "vec", repeated, tag = "8")]
    pub strings: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "2")]
    pub dim: Vec<Dim>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Dim {
    #[prost(int64, tag = "1")]
    pub size: i64,
}

/// Which of TensorBoard's plugins a value is for.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Metadata {
    #[prost(message, optional, tag = "1")]
    pub plugin: Option<PluginData>,
    /// 1 scalar, 2 tensor, 3 a sequence of encoded images.
    #[prost(int32, tag = "4")]
    pub data_class: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PluginData {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub content: Vec<u8>,
}
