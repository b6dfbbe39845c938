//! Pages and their files, which the binary holds.

/// Files of the web part.
pub trait Assets: Send + Sync {
    /// The file below `web/dist`, or `None`.
    fn get(&self, path: &str) -> Option<std::borrow::Cow<'static, [u8]>>;
}
