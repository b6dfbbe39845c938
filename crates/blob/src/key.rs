//! Object keys, and the only code that spells them.

use std::fmt;
use std::str::FromStr;

use kinora_domain::{PresentationId, Random, RenditionId, SourceId};
use uuid::Uuid;

/// The name of one object.
///
/// Its text is a relative path of two to four parts, `source/4e/01979e3e-...-1f6a2f0d9c4e`. It consists of
/// ids, numbers and fixed words only, never of client text, so no key names a file outside of the store. The
/// second part is a shard, the last byte of the id. (The first bytes of a UUID v7 are its time; all new
/// objects would be in one folder.) Ten million sources are 40,000 per folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKey {
    /// The bytes of a source, unchanged.
    Source(SourceId),
    /// The packets of a source in a container that supports random access, where its own does not.
    Normalised(SourceId),
    /// The samples of the audio that replaces a source's own.
    Audio(SourceId),
    /// The sample index of a presentation.
    Index(PresentationId),
    /// Subtitles that were added to a media, as WebVTT.
    Subtitle(SourceId),
    /// The bytes so far of a growing source (folder only). No reader uses this name.
    Growing(SourceId),
    /// The bytes so far of a growing source that do not fill a part yet (S3 only).
    Piece(SourceId, PieceName),
    /// The analysis of the first bytes of a growing source; the number is their count.
    Checkpoint(SourceId, u64),
    /// The init segment of an encoded rendition.
    Init(RenditionId),
    /// One encoded segment of a rendition; numbered as in its plan.
    Segment(RenditionId, u32),
    /// An image made from a presentation: a thumbnail, for example.
    Image(PresentationId, ImageHash),
    /// The clip that `kinora demo` ingests.
    DemoClip,
    /// The id of the database that owns all objects here.
    Owner,
    /// One of the objects that a run of [`crate::check`](mod@crate::check) creates.
    Check(CheckId, u8),
}

/// The id of one run of [`crate::check`](mod@crate::check), so that concurrent runs do not conflict.
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

/// The start offset and the writer of a piece of a growing object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PieceName {
    /// The lease under which it was written.
    pub lease: u32,
    /// Its start offset in the object, in bytes.
    pub start: u64,
}

/// The image of a presentation: a hash of all its parameters (time, size, format).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageHash(pub [u8; 16]);

/// The kinds of objects; each has its own top-level folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// [`ObjectKey::Source`]
    Source,
    /// [`ObjectKey::Normalised`]
    Normalised,
    /// [`ObjectKey::Audio`]
    Audio,
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
    /// [`ObjectKey::Image`]
    Image,
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
        Self::Audio,
        Self::Index,
        Self::Subtitle,
        Self::Growing,
        Self::Piece,
        Self::Checkpoint,
        Self::Init,
        Self::Segment,
        Self::Image,
        Self::Demo,
        Self::Owner,
        Self::Check,
    ];

    const fn text(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Normalised => "normalised",
            Self::Audio => "sound",
            Self::Index => "index",
            Self::Subtitle => "subtitle",
            Self::Growing => "growing",
            Self::Piece => "piece",
            Self::Checkpoint => "checkpoint",
            Self::Init => "init",
            Self::Segment => "segment",
            Self::Image => "picture",
            Self::Demo => "demo",
            Self::Owner => "owner",
            Self::Check => "check",
        }
    }
}

/// A set of keys with the same prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    /// All objects of a kind.
    Kind(ObjectKind),
    /// The segments of one rendition.
    SegmentsOf(RenditionId),
    /// The images of one presentation.
    ImagesOf(PresentationId),
    /// The pieces of one growing source.
    PiecesOf(SourceId),
    /// The checkpoints of one growing source.
    CheckpointsOf(SourceId),
    /// The objects of one run of [`crate::check`](mod@crate::check).
    CheckOf(CheckId),
}

/// A name of the form `{folder}/{shard}/{id}`.
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
            Self::ImagesOf(presentation) => Sharded(ObjectKind::Image, presentation.as_uuid()).fmt(f),
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
            Self::Audio(source) => Sharded(ObjectKind::Audio, source.as_uuid()).fmt(f),
            Self::Index(presentation) => Sharded(ObjectKind::Index, presentation.as_uuid()).fmt(f),
            Self::Subtitle(source) => Sharded(ObjectKind::Subtitle, source.as_uuid()).fmt(f),
            Self::Growing(source) => Sharded(ObjectKind::Growing, source.as_uuid()).fmt(f),
            Self::Piece(source, name) => write!(f, "{}/{name}", Prefix::PiecesOf(*source)),
            Self::Checkpoint(source, offset) => write!(f, "{}/{offset}", Prefix::CheckpointsOf(*source)),
            Self::Init(rendition) => Sharded(ObjectKind::Init, rendition.as_uuid()).fmt(f),
            Self::Segment(rendition, n) => write!(f, "{}/{n}", Prefix::SegmentsOf(*rendition)),
            Self::Image(presentation, hash) => write!(f, "{}/{hash}", Prefix::ImagesOf(*presentation)),
            Self::DemoClip => write!(f, "{}/clip.mp4", ObjectKind::Demo.text()),
            Self::Owner => write!(f, "{}/database", ObjectKind::Owner.text()),
            Self::Check(check, n) => write!(f, "{}/{n}", Prefix::CheckOf(*check)),
        }
    }
}

impl fmt::Display for ImageHash {
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

/// Parses the output of `Display`, and nothing else: every object has one name.
impl FromStr for ObjectKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let parts: Vec<&str> = text.split('/').collect();
        let key = match parts[..] {
            ["source", _, id] => Self::Source(id.parse().map_err(|_| ParseKeyError)?),
            ["normalised", _, id] => Self::Normalised(id.parse().map_err(|_| ParseKeyError)?),
            ["sound", _, id] => Self::Audio(id.parse().map_err(|_| ParseKeyError)?),
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
                Self::Image(id.parse().map_err(|_| ParseKeyError)?, ImageHash(hash.to_be_bytes()))
            }
            ["demo", "clip.mp4"] => Self::DemoClip,
            ["owner", "database"] => Self::Owner,
            ["check", _, id, n] => {
                let check = CheckId(Uuid::parse_str(id).map_err(|_| ParseKeyError)?);
                Self::Check(check, n.parse().map_err(|_| ParseKeyError)?)
            }
            _ => return Err(ParseKeyError),
        };
        // Leading zeros, capitals and a wrong shard were accepted so far.
        if key.to_string() == text { Ok(key) } else { Err(ParseKeyError) }
    }
}

/// The name of the marker that records the running multipart upload of an object (S3 only).
///
/// `multipart/` and the name of the object. No key begins like this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UploadMarker(pub(crate) ObjectKey);

impl UploadMarker {
    /// The folder of all markers.
    pub(crate) const FOLDER: &str = "multipart";
}

impl fmt::Display for UploadMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Self::FOLDER, self.0)
    }
}

impl FromStr for UploadMarker {
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
    fn object_key_round_trips() {
        let source = SourceId::from_uuid(ID);
        let presentation = PresentationId::of(source);
        let rendition = RenditionId::from_uuid(ID);
        let check = |key: ObjectKey, text: &str| {
            assert_eq!(key.to_string(), text);
            assert_eq!(text.parse(), Ok(key));
        };
        check(ObjectKey::Source(source), "source/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Normalised(source), "normalised/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Audio(source), "sound/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Index(presentation), "index/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Subtitle(source), "subtitle/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Init(rendition), "init/e9/019a4946-bdd3-7001-8203-0405060708e9");
        check(ObjectKey::Segment(rendition, 0), "segment/e9/019a4946-bdd3-7001-8203-0405060708e9/0");
        check(
            ObjectKey::Segment(rendition, u32::MAX),
            "segment/e9/019a4946-bdd3-7001-8203-0405060708e9/4294967295",
        );
        check(
            ObjectKey::Image(presentation, ImageHash([0x0a; 16])),
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

        let marker = UploadMarker(ObjectKey::Source(source));
        assert_eq!(marker.to_string(), "multipart/source/e9/019a4946-bdd3-7001-8203-0405060708e9");
        assert_eq!(marker.to_string().parse(), Ok(marker));
    }

    #[test]
    fn invalid_object_key_is_rejected() {
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
    fn ids_of_one_instant_spread_over_shards() {
        let first_key = |n: u128| ObjectKey::Source(SourceId::from_uuid(Uuid::from_u128(ID.as_u128() + n)));
        let shards: std::collections::HashSet<_> =
            (0..256).map(|n| first_key(n).to_string()[..9].to_owned()).collect();
        assert_eq!(shards.len(), 256);
    }
}
