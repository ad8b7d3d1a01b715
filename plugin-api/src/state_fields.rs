//! Fields that are saved in checkpoints without further code: `#[param(state)]`.

use crate::average::WeightAverage;
use crate::error::Result;
use crate::state::{StateReader, StateWriter};
use crate::tensor::{Tensor, TensorList};
use crate::value::Value;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// A type that a field with `#[param(state)]` can have: numbers, `bool`, `String`, an `Option` or a `Vec` of
/// these, `Option<Tensor>`, [`TensorList`], [`WeightAverage`]. Implement it for your own types.
///
/// | type | if the checkpoint does not have it |
/// |---|---|
/// | `bool`, `i32`, `i64`, `u32`, `u64`, `usize`, `f32`, `f64`, `String`, `Vec` | an error: the resume fails |
/// | an `Option` of one of these, but not of a `Vec` | `None` |
/// | `Option<Tensor>` | `None` |
/// | [`TensorList`] | an empty list |
/// | [`WeightAverage`] | an error |
///
/// So add a field to a published hook as an `Option` or a [`TensorList`], and older checkpoints still load.
/// Tensors are restored on the CPU: [`TensorList::init`] moves a list to the device of the run, and a
/// [`WeightAverage`] moves there when it is next used.
///
/// Fields of a hook are saved before `save_state` is called and restored before `load_state`; those of a
/// metric are saved for [`Metric::merge`](crate::Metric::merge) to read.
pub trait StateField {
    /// Saves the value under the name of the field. Called at every checkpoint, on the training thread; the
    /// value must not change.
    ///
    /// # Errors
    /// The host cannot save it.
    fn save(&self, key: &str, state: &mut StateWriter<'_>) -> Result<()>;

    /// Replaces the value by the saved one. Called once in a resume, unless the checkpoint has no state for
    /// the instance.
    ///
    /// # Errors
    /// It was not saved, or has another type.
    fn load(&mut self, key: &str, state: &StateReader<'_>) -> Result<()>;
}

macro_rules! plain_fields {
    ($($ty:ty),*) => {
        $(impl StateField for $ty {
            fn save(&self, key: &str, state: &mut StateWriter<'_>) -> Result<()> {
                state.put(key, self.clone())
            }
            fn load(&mut self, key: &str, state: &StateReader<'_>) -> Result<()> {
                *self = state.value(key)?;
                Ok(())
            }
        }
        /// `None` is not saved, and restored as `None`.
        impl StateField for Option<$ty> {
            fn save(&self, key: &str, state: &mut StateWriter<'_>) -> Result<()> {
                self.as_ref().map_or(Ok(()), |value| value.save(key, state))
            }
            fn load(&mut self, key: &str, state: &StateReader<'_>) -> Result<()> {
                *self = if state.has(key) { Some(state.value(key)?) } else { None };
                Ok(())
            }
        })*
    };
}
plain_fields!(bool, i32, i64, u32, u64, usize, f32, f64, String);

impl<T: Clone + Into<Value> + DeserializeOwned> StateField for Vec<T> {
    fn save(&self, key: &str, state: &mut StateWriter<'_>) -> Result<()> {
        state.put(key, self.clone())
    }
    fn load(&mut self, key: &str, state: &StateReader<'_>) -> Result<()> {
        *self = state.value(key)?;
        Ok(())
    }
}

impl StateField for Option<Tensor> {
    fn save(&self, key: &str, state: &mut StateWriter<'_>) -> Result<()> {
        self.as_ref().map_or(Ok(()), |tensor| state.put_tensor(key, tensor))
    }
    fn load(&mut self, key: &str, state: &StateReader<'_>) -> Result<()> {
        *self = state.tensor(key).ok();
        Ok(())
    }
}

impl StateField for TensorList {
    fn save(&self, key: &str, state: &mut StateWriter<'_>) -> Result<()> {
        state.put_tensors(key, self)
    }
    fn load(&mut self, key: &str, state: &StateReader<'_>) -> Result<()> {
        *self = state.tensors(key);
        Ok(())
    }
}

/// Saved under fixed names, so a hook can have only one.
impl StateField for WeightAverage {
    fn save(&self, _key: &str, state: &mut StateWriter<'_>) -> Result<()> {
        WeightAverage::save(self, state)
    }
    fn load(&mut self, _key: &str, state: &StateReader<'_>) -> Result<()> {
        WeightAverage::load(self, state)
    }
}

/// A struct with saved fields. `#[derive(Settings)]` implements it.
pub trait SavedFields {
    /// Saves each of them.
    fn save(&self, state: &mut StateWriter<'_>) -> Result<()>;
    /// Loads each of them.
    fn load(&mut self, state: &StateReader<'_>) -> Result<()>;
}

/// The saved fields of a type. `Fields::<T>::ANY` is the constant below if `T` has some, and otherwise that of [`NoFields`]: an inherent item
/// takes precedence over that of a trait.
pub struct Fields<T>(PhantomData<T>);

impl<T: SavedFields> Fields<T> {
    /// There are some.
    pub const ANY: bool = true;
    /// Saves them.
    pub fn save(of: &T, state: &mut StateWriter<'_>) -> Result<()> {
        of.save(state)
    }
    /// Loads them.
    pub fn load(of: &mut T, state: &StateReader<'_>) -> Result<()> {
        of.load(state)
    }
}

/// For types without saved fields.
pub trait NoFields<T> {
    /// There are none.
    const ANY: bool = false;
    /// Saves nothing.
    fn save(_of: &T, _state: &mut StateWriter<'_>) -> Result<()> {
        Ok(())
    }
    /// Loads nothing.
    fn load(_of: &mut T, _state: &StateReader<'_>) -> Result<()> {
        Ok(())
    }
}

impl<T> NoFields<T> for Fields<T> {}
