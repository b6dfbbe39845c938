//! Pages and their files, embedded in the binary.

/// Files of the web frontend.
pub trait Assets: Send + Sync {
    /// The file below `web/dist`, or `None`.
    fn get(&self, path: &str) -> Option<std::borrow::Cow<'static, [u8]>>;
}
