//! What the signed path of a manifest's children says (C-13).
//!
//! It names no viewer, so that those of one hour and one key share addresses, and what lies between them and
//! us keeps one copy.

use super::host::Frame;
use super::policy::{PathRefusal, TicketFacts};
use crate::{KeyMark, PlaybackId, SigningKeyId, Timestamp};

/// The form of those that name no frame. Form 1 named a key by its id alone.
const FORM: u8 = 2;
/// The form of those that do: behind the head one byte that tells whether there is a key, the key, and the
/// host.
const FRAMED_FORM: u8 = 3;
const WITHOUT_KEY: u8 = 0;
const WITH_KEY: u8 = 1;
/// Bytes before the key: form, generation, hour.
const HEAD_LEN: usize = 1 + 4 + 4;
/// Its id, and since when it is there.
const KEY_LEN: usize = 16 + 8;
/// Bytes of a signature: HMAC-SHA256.
const SIGNATURE_LEN: usize = 32;
const HOUR_US: i64 = 60 * 60 * Timestamp::SECOND;
/// A viewer who pauses for the night goes on in the morning (C-13).
const ROOM_US: i64 = 12 * HOUR_US;
/// So far may the clocks of two processes be apart: as far as those of whoever signs tokens and whoever reads
/// them (D-0085).
const CLOCKS_APART_US: i64 = 60 * Timestamp::SECOND;

/// To what a path is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTicket {
    /// Below which playback ID it lies.
    pub playback: PlaybackId,
    /// For whom it was made.
    pub facts: TicketFacts,
    /// Hours since 1970 at which it is worth nothing any more.
    hour: u32,
}

impl PathTicket {
    /// The longest one with its signature, in bytes.
    pub const LEN_MAX: usize = HEAD_LEN + 1 + KEY_LEN + Frame::LEN_MAX + SIGNATURE_LEN;

    /// A path that holds for the length of the media and 12 h, and until the hour is full.
    pub fn new(playback: PlaybackId, facts: TicketFacts, length_us: u64, now: Timestamp) -> Self {
        Self { playback, facts, hour: last_hour(length_us, now) }
    }

    /// When it is worth nothing any more.
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_micros(i64::from(self.hour) * HOUR_US)
    }

    /// Whether it may have been handed out by now for a media of this length. One that a clock made which was
    /// ahead would hold for as long as that was.
    pub fn could_be_made(&self, length_us: u64, now: Timestamp) -> bool {
        // Processes of one database hand them out, each by its own clock.
        self.hour <= last_hour(length_us, now.plus_micros(CLOCKS_APART_US))
    }

    /// What the path's part says, in bytes: without the playback ID, which the path holds before it. Both are
    /// signed.
    pub fn said(&self) -> Vec<u8> {
        let TicketFacts { generation, key, frame } = &self.facts;
        let host = frame.as_ref().map(Frame::to_string);
        let mut bytes =
            Vec::with_capacity(HEAD_LEN + 1 + KEY_LEN + SIGNATURE_LEN + host.as_ref().map_or(0, String::len));
        bytes.push(if host.is_some() { FRAMED_FORM } else { FORM });
        bytes.extend(generation.to_be_bytes());
        bytes.extend(self.hour.to_be_bytes());
        if host.is_some() {
            bytes.push(if key.is_some() { WITH_KEY } else { WITHOUT_KEY });
        }
        if let Some(key) = key {
            bytes.extend(key.id.as_uuid().as_bytes());
            bytes.extend(key.created_at.as_micros().to_be_bytes());
        }
        bytes.extend(host.unwrap_or_default().as_bytes());
        bytes
    }

    /// What the bytes of a path's part below this playback ID say, and what is signed of them, which the
    /// caller checks before it believes a word.
    ///
    /// There is one spelling of each: what lies in caches has one address.
    pub fn read(playback: PlaybackId, bytes: &[u8]) -> Result<(Self, SignedPart<'_>), PathRefusal> {
        let (said, signature) = bytes.split_last_chunk().ok_or(PathRefusal::Forged)?;
        let ticket = Self::read_said(playback, said).ok_or(PathRefusal::Forged)?;
        Ok((ticket, SignedPart { said, signature }))
    }

    fn read_said(playback: PlaybackId, said: &[u8]) -> Option<Self> {
        let (head, rest) = said.split_first_chunk::<HEAD_LEN>()?;
        let [form, g0, g1, g2, g3, h0, h1, h2, h3] = *head;
        let (key, host) = match (form, rest) {
            (FORM, []) => (None, None),
            (FORM, key) => (Some(read_key(key)?), None),
            (FRAMED_FORM, [WITHOUT_KEY, host @ ..]) => (None, Some(host)),
            (FRAMED_FORM, [WITH_KEY, rest @ ..]) => {
                let (key, host) = rest.split_at_checked(KEY_LEN)?;
                (Some(read_key(key)?), Some(host))
            }
            _ => return None,
        };
        let frame = match host {
            None => None,
            Some(host) => Some(read_frame(host)?),
        };
        let (generation, hour) = (u32::from_be_bytes([g0, g1, g2, g3]), u32::from_be_bytes([h0, h1, h2, h3]));
        Some(Self { playback, facts: TicketFacts { generation, key, frame }, hour })
    }
}

/// What is signed of a path that came, beside its playback ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedPart<'a> {
    /// What its part says.
    pub said: &'a [u8],
    /// With what it was signed.
    pub signature: &'a [u8; SIGNATURE_LEN],
}

/// The last hour of a path that is handed out now.
fn last_hour(length_us: u64, now: Timestamp) -> u32 {
    let length_us = i64::try_from(length_us).unwrap_or(i64::MAX - ROOM_US);
    let end = now.plus_micros(length_us.saturating_add(ROOM_US)).as_micros();
    let hour = end.div_euclid(HOUR_US) + i64::from(end.rem_euclid(HOUR_US) > 0);
    u32::try_from(hour.max(0)).unwrap_or(u32::MAX)
}

/// In the one spelling that we write.
fn read_frame(host: &[u8]) -> Option<Frame> {
    let host = std::str::from_utf8(host).ok()?;
    let frame = Frame::of_text(host);
    (frame.to_string() == host).then_some(frame)
}

fn read_key(bytes: &[u8]) -> Option<KeyMark> {
    let (id, since) = bytes.split_first_chunk::<16>()?;
    Some(KeyMark {
        id: SigningKeyId::from_uuid(uuid::Uuid::from_bytes(*id)),
        created_at: Timestamp::from_micros(i64::from_be_bytes(since.try_into().ok()?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> KeyMark {
        let id = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
        KeyMark { id, created_at: Timestamp::from_micros(1_762_164_228_000_001) }
    }

    fn ticket() -> PathTicket {
        PathTicket {
            playback: "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f".parse().unwrap(),
            facts: TicketFacts { generation: 7, key: Some(key()), frame: None },
            hour: 500_000,
        }
    }

    fn nobody() -> TicketFacts {
        TicketFacts { generation: 0, key: None, frame: None }
    }

    /// The same for somebody else.
    fn made_for(key: Option<KeyMark>, frame: Option<&str>) -> PathTicket {
        let frame = frame.map(Frame::of_text);
        PathTicket { facts: TicketFacts { key, frame, ..ticket().facts }, ..ticket() }
    }

    fn signed(ticket: &PathTicket) -> Vec<u8> {
        [ticket.said(), vec![9; SIGNATURE_LEN]].concat()
    }

    #[test]
    fn a_ticket_is_read_back_below_its_playback_id() {
        let frames = [None, Some(""), Some("shop.example"), Some("[2001:db8::1]")];
        for ticket in frames.iter().flat_map(|frame| [made_for(Some(key()), *frame), made_for(None, *frame)])
        {
            let bytes = signed(&ticket);
            assert!(bytes.len() <= PathTicket::LEN_MAX);
            let part = SignedPart { said: &ticket.said(), signature: &[9; SIGNATURE_LEN] };
            assert_eq!(PathTicket::read(ticket.playback, &bytes), Ok((ticket, part)));
        }
    }

    #[test]
    fn every_part_changes_what_is_said() {
        let other = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e60";
        let all = [
            ticket(),
            PathTicket { facts: TicketFacts { generation: 8, ..ticket().facts }, ..ticket() },
            made_for(None, None),
            made_for(Some(KeyMark { id: other.parse().unwrap(), ..key() }), None),
            made_for(Some(KeyMark { created_at: Timestamp::from_micros(0), ..key() }), None),
            made_for(Some(key()), Some("")),
            made_for(None, Some("")),
            made_for(Some(key()), Some("shop.example")),
            made_for(None, Some("shop.example")),
            made_for(None, Some("other.example")),
            PathTicket { hour: 500_001, ..ticket() },
        ];
        let bytes: std::collections::HashSet<_> = all.iter().map(PathTicket::said).collect();
        assert_eq!(bytes.len(), all.len());
    }

    #[test]
    fn what_is_no_ticket_is_refused() {
        let bytes = signed(&ticket());
        let check = |bytes: &[u8]| {
            assert_eq!(PathTicket::read(ticket().playback, bytes), Err(PathRefusal::Forged), "{bytes:?}");
        };
        check(&[]);
        check(&bytes[..SIGNATURE_LEN]);
        check(&bytes[1..]);
        check(&bytes[..bytes.len() - 1]);
        check(&[&bytes[..], &[0]].concat());
        check(&[&[1], &bytes[1..]].concat());
        check(&[&[FRAMED_FORM], &bytes[1..]].concat());
        let framed = signed(&made_for(Some(key()), Some("shop.example")));
        check(&[&[FORM], &framed[1..]].concat());
        check(&[&framed[..HEAD_LEN], &[2], &framed[HEAD_LEN + 1..]].concat());
        for other in ["SHOP.example", "shop.example.", " ", "a b"] {
            check(&[&framed[..HEAD_LEN + 1 + KEY_LEN], other.as_bytes(), &[9; SIGNATURE_LEN]].concat());
        }
        check(&[&framed[..HEAD_LEN + KEY_LEN], &[9; SIGNATURE_LEN]].concat());
        check(&[&framed[..HEAD_LEN + 1 + KEY_LEN], &[0xff], &[9; SIGNATURE_LEN]].concat());
    }

    #[test]
    fn what_ends_later_than_any_that_is_handed_out_was_made_by_a_clock_that_was_ahead() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * Timestamp::SECOND);
        let made = |seconds, length_us| PathTicket::new(ticket().playback, nobody(), length_us, at(seconds));
        for length_us in [0, 7_200_000_000, 7_199_999_999] {
            for now in [0, 1, 1800, 3599, 3600, 3601, 1_762_164_228] {
                assert!(made(now, length_us).could_be_made(length_us, at(now)), "{now} {length_us}");
                assert!(made(now + 60, length_us).could_be_made(length_us, at(now)), "{now} {length_us}");
                assert!(!made(now + 3661, length_us).could_be_made(length_us, at(now)), "{now} {length_us}");
                assert!(
                    !made(now, length_us + 3_661_000_000).could_be_made(length_us, at(now)),
                    "another media"
                );
            }
        }
        assert!(made(0, u64::MAX).could_be_made(u64::MAX, at(0)));
    }

    #[test]
    fn viewers_of_one_hour_share_a_path_that_outlives_the_media_by_twelve_hours() {
        let made = |at_s: i64, length_s: u64| {
            let now = Timestamp::from_micros(at_s * Timestamp::SECOND);
            PathTicket::new(ticket().playback, nobody(), length_s * 1_000_000, now)
        };
        let hours = |ticket: PathTicket| ticket.expires_at().as_seconds() / 3600;
        assert_eq!(hours(made(0, 0)), 12);
        assert_eq!(hours(made(1, 0)), 13);
        assert_eq!(hours(made(0, 2 * 3600)), 14);
        assert_eq!(made(1, 600), made(3000, 600));
        assert_ne!(made(3000, 600), made(3001, 600));
        let last = Timestamp::from_micros(i64::MAX).as_micros() / HOUR_US;
        assert_eq!(i64::from(made(0, u64::MAX / 1_000_000).hour), last);
    }
}
