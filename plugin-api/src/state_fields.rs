//! Fields that a checkpoint keeps without a line of code: `#[param(state)]`.

use crate::average::WeightAverage;
use crate::error::Result;
use crate::state::{StateReader, StateWriter};
use crate::tensor::{Tensor, TensorList};
use crate::value::Value;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// What a field with `#[param(state)]` may be: a number, a truth value, a text, an `Option` or a `Vec` of them, an
/// `Option<Tensor>`, a [`TensorList`], one [`WeightAverage`]. Implement it for a type of your own.
pub trait StateField {
    /// Puts the value into a checkpoint, under the name of the field.
    ///
    /// # Errors
    /// The host did not take it.
    fn save(&self, key: &str, state: &mut StateWriter<'_>) -> Result<()>;

    /// Replaces the value by the one that was saved under this name.
    ///
    /// # Errors
    /// None was, or it is of another kind.
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
        /// Saved where there is a value; `None` where none was.
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

/// Under names of its own, whatever the field is called: a hook has one.
impl StateField for WeightAverage {
    fn save(&self, _key: &str, state: &mut StateWriter<'_>) -> Result<()> {
        WeightAverage::save(self, state)
    }
    fn load(&mut self, _key: &str, state: &StateReader<'_>) -> Result<()> {
        WeightAverage::load(self, state)
    }
}

/// A struct with such fields. `#[derive(Settings)]` implements it.
pub trait SavedFields {
    /// Saves each of them.
    fn save(&self, state: &mut StateWriter<'_>) -> Result<()>;
    /// Loads each of them.
    fn load(&mut self, state: &StateReader<'_>) -> Result<()>;
}

/// Asks a type for its saved fields. `Fields::<T>::ANY` is the one below where `T` has some, and else that of [`NoFields`]:
/// an inherent item goes before one of a trait.
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

/// The answers where a type has no saved fields.
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
