//! Object keys, and the only place that spells them.

use std::fmt;
use std::str::FromStr;

use kinora_domain::{PresentationId, Random, RenditionId, SourceId};
use uuid::Uuid;

/// The name of one object.
///
/// Its text is a relative path of two to four parts, `source/4e/01979e3e-...-1f6a2f0d9c4e`, made of ids,
/// numbers and fixed words only: no text from outside can reach it, so no key leads out of the store. The
/// second part is a shard, the last byte of the id. (The first bytes of a UUID v7 are its time; all of
/// today's objects would lie in one folder.) Ten million sources are 40,000 to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKey {
    /// The bytes of a source, as they came.
    Source(SourceId),
    /// The packets of a source in a container that can be read in place, where its own cannot.
    Normalised(SourceId),
    /// The samples of the sound that was put in the place of a source's own.
    Sound(SourceId),
    /// The sample index of a presentation.
    Index(PresentationId),
    /// Subtitles that were added to a media, as WebVTT.
    Subtitle(SourceId),
    /// What has come of a source that still grows (folder only). Nobody reads it under this name.
    Growing(SourceId),
    /// What has come of a source that grows and is no whole part yet (S3 only).
    Piece(SourceId, PieceName),
    /// What is known of the first so many bytes of a source that grows.
    Checkpoint(SourceId, u64),
    /// The init segment of an encoded rendition.
    Init(RenditionId),
    /// One encoded segment of a rendition; segments are counted as in its plan.
    Segment(RenditionId, u32),
    /// A picture made from a presentation.
    Picture(PresentationId, PictureHash),
    /// The clip that `kinora demo` takes in.
    DemoClip,
    /// Names the database that all objects here belong to.
    Owner,
    /// One of the objects with which a run of [`crate::check`] tries the store.
    Check(CheckId, u8),
}

/// Names one run of [`crate::check`], so that runs beside each other do not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CheckId(Uuid);

impl CheckId {
    /// A new id (UUID v4).
    pub fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

/// Says which bytes of a growing object a piece begins with, and who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PieceName {
    /// The lease under which it was written.
    pub lease: u32,
    /// Where it begins, in bytes from the start of the object.
    pub start: u64,
}

/// Says which picture of a presentation: a hash of everything that shaped it (time, size, format).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureHash(pub [u8; 16]);

/// The kinds of objects; each has a folder of its own at the top of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// [`ObjectKey::Source`]
    Source,
    /// [`ObjectKey::Normalised`]
    Normalised,
    /// [`ObjectKey::Sound`]
    Sound,
    /// [`ObjectKey::Index`]
    Index,
    /// [`ObjectKey::Subtitle`]
    Subtitle,
    /// [`ObjectKey::Growing`]
    Growing,
    /// [`ObjectKey::Piece`]
    Piece,
    /// [`ObjectKey::Checkpoint`]
    Checkpoint,
    /// [`ObjectKey::Init`]
    Init,
    /// [`ObjectKey::Segment`]
    Segment,
    /// [`ObjectKey::Picture`]
    Picture,
    /// [`ObjectKey::DemoClip`]
    Demo,
    /// [`ObjectKey::Owner`]
    Owner,
    /// [`ObjectKey::Check`]
    Check,
}

impl ObjectKind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::Source,
        Self::Normalised,
        Self::Sound,
        Self::Index,
        Self::Subtitle,
        Self::Growing,
        Self::Piece,
        Self::Checkpoint,
        Self::Init,
        Self::Segment,
        Self::Picture,
        Self::Demo,
        Self::Owner,
        Self::Check,
    ];

    const fn text(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Normalised => "normalised",
            Self::Sound => "sound",
            Self::Index => "index",
            Self::Subtitle => "subtitle",
            Self::Growing => "growing",
            Self::Piece => "piece",
            Self::Checkpoint => "checkpoint",
            Self::Init => "init",
            Self::Segment => "segment",
            Self::Picture => "picture",
            Self::Demo => "demo",
            Self::Owner => "owner",
            Self::Check => "check",
        }
    }
}

/// A set of keys with the same beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    /// All objects of a kind.
    Kind(ObjectKind),
    /// The segments of one rendition.
    SegmentsOf(RenditionId),
    /// The pictures made from one presentation.
    PicturesOf(PresentationId),
    /// The pieces of one growing source.
    PiecesOf(SourceId),
    /// The checkpoints of one growing source.
    CheckpointsOf(SourceId),
    /// The objects of one run of [`crate::check`].
    CheckOf(CheckId),
}

/// A name of the kind `{folder}/{shard}/{id}`.
struct Sharded(ObjectKind, Uuid);

impl fmt::Display for Sharded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(kind, id) = self;
        let [.., shard] = id.as_bytes();
        write!(f, "{}/{shard:02x}/{}", kind.text(), id.as_hyphenated())
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => f.write_str(kind.text()),
            Self::SegmentsOf(rendition) => Sharded(ObjectKind::Segment, rendition.as_uuid()).fmt(f),
            Self::PicturesOf(presentation) => Sharded(ObjectKind::Picture, presentation.as_uuid()).fmt(f),
            Self::PiecesOf(source) => Sharded(ObjectKind::Piece, source.as_uuid()).fmt(f),
            Self::CheckpointsOf(source) => Sharded(ObjectKind::Checkpoint, source.as_uuid()).fmt(f),
            Self::CheckOf(check) => Sharded(ObjectKind::Check, check.0).fmt(f),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(source) => Sharded(ObjectKind::Source, source.as_uuid()).fmt(f),
            Self::Normalised(source) => Sharded(ObjectKind::Normalised, source.as_uuid()).fmt(f),
            Self::Sound(source) => Sharded(ObjectKind::Sound, source.as_uuid()).fmt(f),
            Self::Index(presentation) => Sharded(ObjectKind::Index, presentation.as_uuid()).fmt(f),
            Self::Subtitle(source) => Sharded(ObjectKind::Subtitle, source.as_uuid()).fmt(f),
            Self::Growing(source) => Sharded(ObjectKind::Growing, source.as_uuid()).fmt(f),
            Self::Piece(source, name) => write!(f, "{}/{name}", Prefix::PiecesOf(*source)),
            Self::Checkpoint(source, offset) => write!(f, "{}/{offset}", Prefix::CheckpointsOf(*source)),
            Self::Init(rendition) => Sharded(ObjectKind::Init, rendition.as_uuid()).fmt(f),
            Self::Segment(rendition, n) => write!(f, "{}/{n}", Prefix::SegmentsOf(*rendition)),
            Self::Picture(presentation, hash) => write!(f, "{}/{hash}", Prefix::PicturesOf(*presentation)),
            Self::DemoClip => write!(f, "{}/clip.mp4", ObjectKind::Demo.text()),
            Self::Owner => write!(f, "{}/database", ObjectKind::Owner.text()),
            Self::Check(check, n) => write!(f, "{}/{n}", Prefix::CheckOf(*check)),
        }
    }
}

impl fmt::Display for PictureHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Display for PieceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.lease, self.start)
    }
}

impl FromStr for PieceName {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let (lease, start) = text.split_once('-').ok_or(ParseKeyError)?;
        let lease = lease.parse().map_err(|_| ParseKeyError)?;
        Ok(Self { lease, start: start.parse().map_err(|_| ParseKeyError)? })
    }
}

/// The text is not the name of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an object")]
pub struct ParseKeyError;

/// Reads back what `Display` wrote, and nothing else: every object has one name.
impl FromStr for ObjectKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let parts: Vec<&str> = text.split('/').collect();
        let key = match parts[..] {
            ["source", _, id] => Self::Source(id.parse().map_err(|_| ParseKeyError)?),
            ["normalised", _, id] => Self::Normalised(id.parse().map_err(|_| ParseKeyError)?),
            ["sound", _, id] => Self::Sound(id.parse().map_err(|_| ParseKeyError)?),
            ["index", _, id] => Self::Index(id.parse().map_err(|_| ParseKeyError)?),
            ["subtitle", _, id] => Self::Subtitle(id.parse().map_err(|_| ParseKeyError)?),
            ["growing", _, id] => Self::Growing(id.parse().map_err(|_| ParseKeyError)?),
            ["piece", _, id, name] => Self::Piece(id.parse().map_err(|_| ParseKeyError)?, name.parse()?),
            ["checkpoint", _, id, offset] => {
                let source = id.parse().map_err(|_| ParseKeyError)?;
                Self::Checkpoint(source, offset.parse().map_err(|_| ParseKeyError)?)
            }
            ["init", _, id] => Self::Init(id.parse().map_err(|_| ParseKeyError)?),
            ["segment", _, id, n] => {
                Self::Segment(id.parse().map_err(|_| ParseKeyError)?, n.parse().map_err(|_| ParseKeyError)?)
            }
            ["picture", _, id, hash] => {
                let hash = u128::from_str_radix(hash, 16).map_err(|_| ParseKeyError)?;
                Self::Picture(id.parse().map_err(|_| ParseKeyError)?, PictureHash(hash.to_be_bytes()))
            }
            ["demo", "clip.mp4"] => Self::DemoClip,
            ["owner", "database"] => Self::Owner,
            ["check", _, id, n] => {
                let check = CheckId(Uuid::parse_str(id).map_err(|_| ParseKeyError)?);
                Self::Check(check, n.parse().map_err(|_| ParseKeyError)?)
            }
            _ => return Err(ParseKeyError),
        };
        // Leading zeros, capitals and a wrong shard have been let through so far.
        if key.to_string() == text { Ok(key) } else { Err(ParseKeyError) }
    }
}

/// The name of the note that says which upload in parts is under way for an object (S3 only).
///
/// `multipart/` and the name of the object. No key begins like this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UploadNote(pub(crate) ObjectKey);

impl UploadNote {
    /// Where all notes lie.
    pub(crate) const FOLDER: &str = "multipart";
}

impl fmt::Display for UploadNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Self::FOLDER, self.0)
    }
}

impl FromStr for UploadNote {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let key = text.strip_prefix(Self::FOLDER).and_then(|rest| rest.strip_prefix('/'));
        Ok(Self(key.ok_or(ParseKeyError)?.parse()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Uuid = Uuid::from_u128(0x019a_4946_bdd3_7001_8203_0405_0607_08e9);

    #[test]
    fn every_key_has_one_name_and_can_be_read_back() {
        let source = SourceId::from_uuid(ID);
        let presentation = PresentationId::of(source);
        let rendition = RenditionId::from_uuid(ID);
        let check = |key: ObjectKey, text: &str| {
            assert_eq!(key.to_string(), text);
            assert_eq!(text.parse(), Ok(key));
        };
        check(ObjectKey::Source(source), "source/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Normalised(source), "normalised/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Sound(source), "sound/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Index(presentation), "index/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Subtitle(source), "subtitle/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Init(rendition), "init/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Segment(rendition, 0), "segment/e9/019a4946-bdd3-7001-8203-0405060708e9/0");
        check(
            ObjectKey::Segment(rendition, u32::MAX),
            "segment/e9/019a4946-bdd3-7001-8203-0405060708e9/4294967295",
        );
        check(
            ObjectKey::Picture(presentation, PictureHash([0x0a; 16])),
            "picture/e9/019a4946-bdd3-7001-8203-0405060708e9/0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
        );
        check(ObjectKey::Growing(source), "growing/e9/019a4946-bdd3-7001-8203-0405060708e9");
        let name = PieceName { lease: 3, start: 5_497_558_138_880 };
        check(
            ObjectKey::Piece(source, name),
            "piece/e9/019a4946-bdd3-7001-8203-0405060708e9/3-5497558138880",
        );
        check(ObjectKey::Checkpoint(source, 8192), "checkpoint/e9/019a4946-bdd3-7001-8203-0405060708e9/8192");
        check(ObjectKey::DemoClip, "demo/clip.mp4");
        check(ObjectKey::Owner, "owner/database");
        check(ObjectKey::Check(CheckId(ID), 7), "check/e9/019a4946-bdd3-7001-8203-0405060708e9/7");

        let note = UploadNote(ObjectKey::Source(source));
        assert_eq!(note.to_string(), "multipart/source/e9/019a4946-bdd3-7001-8203-0405060708e9");
        assert_eq!(note.to_string().parse(), Ok(note));
    }

    #[test]
    fn a_text_that_no_key_spells_is_refused() {
        for text in [
            "",
            "/",
            "source",
            "source/e9",
            "source/e9/",
            "source/e8/019a4946-bdd3-7001-8203-0405060708e9",
            "source/E9/019A4946-BDD3-7001-8203-0405060708E9",
            "source/e9/019a4946-bdd3-7001-8203-0405060708e9/0",
            "source/e9/../019a4946-bdd3-7001-8203-0405060708e9",
            "/source/e9/019a4946-bdd3-7001-8203-0405060708e9",
            "segment/e9/019a4946-bdd3-7001-8203-0405060708e9",
            "segment/e9/019a4946-bdd3-7001-8203-0405060708e9/01",
            "segment/e9/019a4946-bdd3-7001-8203-0405060708e9/+1",
            "segment/e9/019a4946-bdd3-7001-8203-0405060708e9/-1",
            "segment/e9/019a4946-bdd3-7001-8203-0405060708e9/4294967296",
            "picture/e9/019a4946-bdd3-7001-8203-0405060708e9/0A0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
            "picture/e9/019a4946-bdd3-7001-8203-0405060708e9/0a",
            "growing/e9/019a4946-bdd3-7001-8203-0405060708e9/0",
            "piece/e9/019a4946-bdd3-7001-8203-0405060708e9",
            "piece/e9/019a4946-bdd3-7001-8203-0405060708e9/1",
            "piece/e9/019a4946-bdd3-7001-8203-0405060708e9/01-0",
            "piece/e9/019a4946-bdd3-7001-8203-0405060708e9/1--1",
            "piece/e9/019a4946-bdd3-7001-8203-0405060708e9/1-2-3",
            "piece/e9/019a4946-bdd3-7001-8203-0405060708e9/4294967296-0",
            "checkpoint/e9/019a4946-bdd3-7001-8203-0405060708e9/-1",
            "checkpoint/e9/019a4946-bdd3-7001-8203-0405060708e9/18446744073709551616",
            "demo/../source",
            "demo/clip.mp4/",
            "owner/Database",
            "temporary/1-2",
            "multipart/source/e9/019a4946-bdd3-7001-8203-0405060708e9",
            "check/e9/019a4946-bdd3-7001-8203-0405060708e9",
            "check/e9/019a4946-bdd3-7001-8203-0405060708e9/256",
            "elsewhere/e9/019a4946-bdd3-7001-8203-0405060708e9",
        ] {
            assert_eq!(text.parse::<ObjectKey>(), Err(ParseKeyError), "{text:?}");
        }
    }

    #[test]
    fn ids_of_one_moment_are_spread_over_the_shards() {
        let first_key = |n: u128| ObjectKey::Source(SourceId::from_uuid(Uuid::from_u128(ID.as_u128() + n)));
        let shards: std::collections::HashSet<_> =
            (0..256).map(|n| first_key(n).to_string()[..9].to_owned()).collect();
        assert_eq!(shards.len(), 256);
    }
}
