//! A map whose values live as long as they are in use.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// One value for each key, shared by all users and dropped with the last of them, so unused values take no
/// memory.
#[derive(Debug)]
pub(super) struct WeakMap<K, V>(Mutex<HashMap<K, Weak<V>>>);

impl<K: Eq + Hash, V> WeakMap<K, V> {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    /// The shared value of a key, or a new one.
    pub(super) fn get(&self, key: K, new: impl FnOnce() -> V) -> Arc<V> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.retain(|_, value| 0 < value.strong_count());
        if let Some(value) = map.get(&key).and_then(Weak::upgrade) {
            return value;
        }
        let value = Arc::new(new());
        map.insert(key, Arc::downgrade(&value));
        value
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}
