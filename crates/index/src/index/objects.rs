//! The objects that contain the samples of an index.

use super::Container;

/// Parts of one presentation: D-0123.
pub const PARTS_MAX: usize = 30;
/// Objects of one index: for each part one with video and one with audio, and the audio that replaces all.
pub const OBJECTS_MAX: usize = 2 * PARTS_MAX + 1;

/// Names a source that an index of several parts refers to: the bytes of its UUID.
pub type SourceName = [u8; 16];

/// An object that contains samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleObject {
    /// The source it belongs to; `None` for the source that the index was made of.
    pub source: Option<SourceName>,
    /// Its kind within that source.
    pub kind: SampleObjectKind,
    /// Its length in bytes.
    pub len: u64,
}

/// The kind of an object within its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleObjectKind {
    /// The source itself, unmodified.
    Source,
    /// A remuxed copy of the source in this container, with addressable samples. Made where the source
    /// cannot be read in place. The packets are those of the source.
    Remuxed(Container),
    /// Audio that replaces the audio of the source.
    Audio {
        /// SHA-256 of the object. It makes the index differ when other audio of equal length replaces it.
        sha256: [u8; 32],
    },
}

impl SampleObject {
    /// The unmodified bytes of the source that an index is made of.
    pub const fn source(len: u64) -> Self {
        Self { source: None, kind: SampleObjectKind::Source, len }
    }

    /// A remuxed copy of that source in another container.
    pub const fn remuxed(container: Container, len: u64) -> Self {
        Self { source: None, kind: SampleObjectKind::Remuxed(container), len }
    }

    /// Audio that replaces the audio of the source.
    pub const fn audio(len: u64, sha256: [u8; 32]) -> Self {
        Self { source: None, kind: SampleObjectKind::Audio { sha256 }, len }
    }
}
