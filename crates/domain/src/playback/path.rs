//! What the signed path of a manifest's children says (contract decision 13).
//!
//! It names no viewer, so that those of one hour and one key share addresses, and what lies between them and us keeps one copy.

use super::policy::PathRefusal;
use crate::{KeyMark, PlaybackId, SigningKeyId, Timestamp};

/// The form that is written now. Form 1 named a key by its id alone.
const FORM: u8 = 2;
/// Bytes before the key: form, generation, hour.
const HEAD_LEN: usize = 1 + 4 + 4;
/// Its id, and since when it is there.
const KEY_LEN: usize = 16 + 8;
/// Bytes of a signature: HMAC-SHA256.
const SIGNATURE_LEN: usize = 32;
const HOUR_US: i64 = 60 * 60 * Timestamp::SECOND;
/// A viewer who pauses for the night goes on in the morning (contract decision 13).
const ROOM_US: i64 = 12 * HOUR_US;
/// So far may the clocks of two processes be apart: as far as those of whoever signs tokens and whoever reads them (decision 0085).
const CLOCKS_APART_US: i64 = 60 * Timestamp::SECOND;

/// To what a path is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathTicket {
    /// Below which playback ID it lies.
    pub playback: PlaybackId,
    /// The generation of the playback ID that it was made for.
    pub generation: u32,
    /// The key that signed the token of whoever was given it; `None` where none was needed.
    pub key: Option<KeyMark>,
    /// Hours since 1970 at which it is worth nothing any more.
    hour: u32,
}

impl PathTicket {
    /// The longest one with its signature, in bytes.
    pub const LEN_MAX: usize = HEAD_LEN + KEY_LEN + SIGNATURE_LEN;

    /// A path that holds for the length of the media and 12 h, and until the hour is full.
    pub fn new(
        playback: PlaybackId,
        generation: u32,
        key: Option<KeyMark>,
        length_us: u64,
        now: Timestamp,
    ) -> Self {
        let length_us = i64::try_from(length_us).unwrap_or(i64::MAX - ROOM_US);
        let end = now.plus_micros(length_us.saturating_add(ROOM_US)).as_micros();
        let hour = end.div_euclid(HOUR_US) + i64::from(end.rem_euclid(HOUR_US) > 0);
        Self { playback, generation, key, hour: u32::try_from(hour.max(0)).unwrap_or(u32::MAX) }
    }

    /// When it is worth nothing any more.
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_micros(i64::from(self.hour) * HOUR_US)
    }

    /// Whether it may have been handed out by now for a media of this length. One that a clock made which was ahead would hold for as long as that was.
    pub fn could_be_made(&self, length_us: u64, now: Timestamp) -> bool {
        let Self { playback, generation, key, .. } = *self;
        // Processes of one database hand them out, each by its own clock.
        let last = Self::new(playback, generation, key, length_us, now.plus_micros(CLOCKS_APART_US));
        self.hour <= last.hour
    }

    /// The bytes that are signed: all of it, with the playback ID, which the path holds before them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.playback.as_uuid().as_bytes().to_vec();
        bytes.extend(self.own_bytes());
        bytes
    }

    /// The bytes of the path's part: without the playback ID, with the signature.
    pub fn with_signature(&self, signature: [u8; SIGNATURE_LEN]) -> Vec<u8> {
        let mut bytes = self.own_bytes();
        bytes.extend(signature);
        bytes
    }

    fn own_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::LEN_MAX);
        bytes.push(FORM);
        bytes.extend(self.generation.to_be_bytes());
        bytes.extend(self.hour.to_be_bytes());
        if let Some(key) = self.key {
            bytes.extend(key.id.as_uuid().as_bytes());
            bytes.extend(key.created_at.as_micros().to_be_bytes());
        }
        bytes
    }

    /// What the bytes of a path's part below this playback ID say, and their signature, which the caller checks before it believes a word.
    pub fn read(playback: PlaybackId, bytes: &[u8]) -> Result<(Self, [u8; SIGNATURE_LEN]), PathRefusal> {
        let (own, signature) = bytes.split_last_chunk().ok_or(PathRefusal::Forged)?;
        let (head, key) = own.split_first_chunk::<HEAD_LEN>().ok_or(PathRefusal::Forged)?;
        let [FORM, g0, g1, g2, g3, h0, h1, h2, h3] = *head else { return Err(PathRefusal::Forged) };
        let key = match key {
            [] => None,
            key => {
                let (id, since) = key.split_first_chunk::<16>().ok_or(PathRefusal::Forged)?;
                Some(KeyMark {
                    id: SigningKeyId::from_uuid(uuid::Uuid::from_bytes(*id)),
                    created_at: Timestamp::from_micros(i64::from_be_bytes(
                        since.try_into().map_err(|_| PathRefusal::Forged)?,
                    )),
                })
            }
        };
        let (generation, hour) = (u32::from_be_bytes([g0, g1, g2, g3]), u32::from_be_bytes([h0, h1, h2, h3]));
        Ok((Self { playback, generation, key, hour }, *signature))
    }
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
            generation: 7,
            key: Some(key()),
            hour: 500_000,
        }
    }

    #[test]
    fn a_ticket_is_read_back_below_its_playback_id() {
        for ticket in [ticket(), PathTicket { key: None, ..ticket() }] {
            let bytes = ticket.with_signature([9; SIGNATURE_LEN]);
            assert!(bytes.len() <= PathTicket::LEN_MAX);
            assert_eq!(PathTicket::read(ticket.playback, &bytes), Ok((ticket, [9; SIGNATURE_LEN])));
        }
    }

    #[test]
    fn every_part_changes_the_signed_bytes() {
        let other = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e60";
        let changed = [
            PathTicket { playback: other.parse().unwrap(), ..ticket() },
            PathTicket { generation: 8, ..ticket() },
            PathTicket { key: None, ..ticket() },
            PathTicket { key: Some(KeyMark { id: other.parse().unwrap(), ..key() }), ..ticket() },
            PathTicket { key: Some(KeyMark { created_at: Timestamp::from_micros(0), ..key() }), ..ticket() },
            PathTicket { hour: 500_001, ..ticket() },
        ];
        for changed in changed {
            assert_ne!(changed.to_bytes(), ticket().to_bytes(), "{changed:?}");
        }
    }

    #[test]
    fn what_is_no_ticket_is_refused() {
        let bytes = ticket().with_signature([9; SIGNATURE_LEN]);
        let check = |bytes: &[u8]| {
            assert_eq!(PathTicket::read(ticket().playback, bytes), Err(PathRefusal::Forged), "{bytes:?}");
        };
        check(&[]);
        check(&bytes[..SIGNATURE_LEN]);
        check(&bytes[1..]);
        check(&bytes[..bytes.len() - 1]);
        check(&[&bytes[..], &[0]].concat());
        check(&[&[1], &bytes[1..]].concat());
    }

    #[test]
    fn what_ends_later_than_any_that_is_handed_out_was_made_by_a_clock_that_was_ahead() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * Timestamp::SECOND);
        let made = |seconds, length_us| PathTicket::new(ticket().playback, 0, None, length_us, at(seconds));
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
            PathTicket::new(ticket().playback, 0, None, length_s * 1_000_000, now)
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
