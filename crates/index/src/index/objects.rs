//! The objects in which the samples of an index lie.

use super::Container;

/// Parts of one presentation: D-0123.
pub const PARTS_MAX: usize = 30;
/// Objects of one index: of each part those of its pictures and of its sound, and the sound that takes the
/// place of all.
pub const OBJECTS_MAX: usize = 2 * PARTS_MAX + 1;

/// Names a source that an index of several parts refers to: the bytes of its UUID.
pub type SourceName = [u8; 16];

/// An object that holds samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleObject {
    /// To which source it belongs; `None` to the one that the index was made of.
    pub source: Option<SourceName>,
    /// What it is of that source.
    pub kind: SampleObjectKind,
    /// Its length in bytes.
    pub len: u64,
}

/// What an object is of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleObjectKind {
    /// The source itself, as it came.
    Source,
    /// A copy of the source in this container, whose samples can be told from one another, made where the
    /// source's own cannot be read in place. The packets are those of the source.
    Normalised(Container),
    /// Sound that was put in the place of the source's own.
    Sound {
        /// SHA-256 of the object: of the same pictures with another sound, as long, another index must come.
        sha256: [u8; 32],
    },
}

impl SampleObject {
    /// The bytes of the source that an index is made of, as they came.
    pub const fn source(len: u64) -> Self {
        Self { source: None, kind: SampleObjectKind::Source, len }
    }

    /// A copy of that source in another container.
    pub const fn normalised(container: Container, len: u64) -> Self {
        Self { source: None, kind: SampleObjectKind::Normalised(container), len }
    }

    /// Sound that was put in the place of its own.
    pub const fn sound(len: u64, sha256: [u8; 32]) -> Self {
        Self { source: None, kind: SampleObjectKind::Sound { sha256 }, len }
    }
}
