//! What is there for a key as long as somebody holds it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// One value for each key, shared by all who hold it and gone with the last of them: what nobody holds takes
/// no memory.
#[derive(Debug)]
pub(super) struct WhileHeld<K, V>(Mutex<HashMap<K, Weak<V>>>);

impl<K: Eq + Hash, V> WhileHeld<K, V> {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    /// The value that others hold, or a new one.
    pub(super) fn get(&self, key: K, new: impl FnOnce() -> V) -> Arc<V> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, value| 0 < value.strong_count());
        if let Some(value) = held.get(&key).and_then(Weak::upgrade) {
            return value;
        }
        let value = Arc::new(new());
        held.insert(key, Arc::downgrade(&value));
        value
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}
