//! IDs: one type per entity, UUIDs in lower case (C-114).

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::{Random, Timestamp};

/// The text is not a UUID in the hyphenated form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a UUID such as 01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11")]
pub struct ParseIdError;

fn parse(text: &str) -> Result<Uuid, ParseIdError> {
    // Only the 36-character form: braces, URNs and bare hex would give one entity several names.
    if text.len() != 36 { Err(ParseIdError) } else { Uuid::try_parse(text).map_err(|_| ParseIdError) }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The ID with this stored value.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Parses the canonical form, lower case, of IDs in URLs: caches store one response for each URL.
            ///
            /// # Errors
            ///
            /// [`ParseIdError`], also for other spellings that [`FromStr`] accepts.
            pub fn from_canonical(text: &str) -> Result<Self, ParseIdError> {
                let is_canonical = !text.bytes().any(|byte| byte.is_ascii_uppercase());
                if is_canonical { text.parse() } else { Err(ParseIdError) }
            }

            /// Its value.
            pub const fn as_uuid(&self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0.as_hyphenated())
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse(text).map(Self)
            }
        }
    };
}

macro_rules! time_ordered_id {
    ($(#[$doc:meta])* $name:ident) => {
        id!($(#[$doc])* $name);

        impl $name {
            /// A new ID (UUID v7), ordered by time, so that new rows are neighbours in an index.
            pub fn new(now: Timestamp, random: &dyn Random) -> Self {
                let mut bytes = [0; 10];
                random.fill(&mut bytes);
                let millis = u64::try_from(now.as_micros() / 1000).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid())
            }
        }
    };
}

time_ordered_id!(/// Names an organisation.
    OrganisationId);
time_ordered_id!(/// Names a workspace.
    WorkspaceId);
time_ordered_id!(/// The public half of an access token; the user name in HTTP Basic.
    AccessTokenId);
time_ordered_id!(/// Names a media.
    MediaId);
time_ordered_id!(/// Names an input of a media.
    InputId);
time_ordered_id!(/// Names a source: one attempt to receive a file. The objects of an attempt are stored
    /// under its own ID only.
    SourceId);
time_ordered_id!(/// Names a presentation: one whole source, or an arrangement of parts of sources. The
    /// keys of all derived objects contain it.
    PresentationId);
time_ordered_id!(/// Names a track of a media.
    TrackId);
time_ordered_id!(/// Names a webhook.
    WebhookId);
time_ordered_id!(/// Names an event; receivers deduplicate by it.
    EventId);
time_ordered_id!(/// Names the delivery of one event to one webhook.
    DeliveryId);
time_ordered_id!(/// Names one POST of a delivery.
    AttemptId);
time_ordered_id!(/// Names a job.
    JobId);
time_ordered_id!(/// Names a key that signs playback tokens; the `kid` of a token.
    SigningKeyId);
time_ordered_id!(/// Names a person.
    PersonId);
time_ordered_id!(/// Names a session of a person. It stays when the secret of the session is replaced.
    SessionId);
time_ordered_id!(/// Names a one-time link.
    OneTimeLinkId);
time_ordered_id!(/// Names a row of the audit log.
    AuditId);
id!(/// Names an encoded rendition of one presentation. All machines compute the same ID.
    RenditionId);
id!(/// Names the DRM configuration of a media: the data that a licence service needs.
    DrmConfigurationId);
id!(/// Names a media in playback URLs. For a public media it is the only secret.
    PlaybackId);
id!(/// Names a playlist, also in its playback URL. A viewer with the ID can watch the public media of
    /// the playlist.
    PlaylistId);

impl SourceId {
    /// The source with these bytes as its UUID. A sample index names sources by them.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

impl PresentationId {
    /// The presentation with the ID of this source: the whole source, or what an edited media plays, whose
    /// index has a source ID of its own. So a media has one ID for all objects of its own. D-0123, D-0131.
    pub const fn of(source: SourceId) -> Self {
        Self(source.0)
    }

    /// The source with the ID of this presentation: rows of media name presentations as sources. That of an
    /// edited media has an index, but no bytes. D-0131.
    pub const fn whole_source(self) -> SourceId {
        SourceId(self.0)
    }
}

impl RenditionId {
    /// The ID from this hash of all parameters of the rendition (UUID v8, RFC 9562, 5.8; it has 122 bits of
    /// the hash).
    pub fn of_hash(hash: [u8; 16]) -> Self {
        Self(uuid::Builder::from_custom_bytes(hash).into_uuid())
    }
}

impl PlaybackId {
    /// A new ID (UUID v4). Version 7 would reveal its creation time and resemble IDs created at the same
    /// time. C-43.
    pub fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl PlaylistId {
    /// A new ID (UUID v4), for the same reason as a playback ID. D-0072.
    pub fn new(random: &dyn Random) -> Self {
        Self(PlaybackId::new(random).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting;

    impl Random for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = u8::try_from(at).unwrap();
            }
        }
    }

    #[test]
    fn media_ids_are_version_7_and_playback_ids_version_4() {
        let media = MediaId::new(Timestamp::from_micros(1_762_164_228_595_604), &Counting);
        assert_eq!(media.to_string(), "019a492c-41f3-7001-8203-040506070809");
        assert_eq!(PlaybackId::new(&Counting).to_string(), "00010203-0405-4607-8809-0a0b0c0d0e0f");
    }

    #[test]
    fn rendition_ids_are_version_8_and_follow_from_their_hash() {
        assert_eq!(RenditionId::of_hash([0xff; 16]).to_string(), "ffffffff-ffff-8fff-bfff-ffffffffffff");
        assert_eq!(RenditionId::of_hash([0; 16]).to_string(), "00000000-0000-8000-8000-000000000000");
    }

    #[test]
    fn only_the_hyphenated_form_is_an_id() {
        let check = |text: &str, ok: bool| assert_eq!(text.parse::<MediaId>().is_ok(), ok, "{text}");
        check("019a4946-bdd3-7001-8203-040506070809", true);
        check("019A4946-BDD3-7001-8203-040506070809", true);
        check("019a4946bdd370018203040506070809", false);
        check("{019a4946-bdd3-7001-8203-040506070809}", false);
        check("urn:uuid:019a4946-bdd3-7001-8203-040506070809", false);
        check("", false);
        check("019a4946-bdd3-7001-8203-04050607080g", false);
    }
}
