//! Container formats of sources.

use serde::{Deserialize, Serialize};

/// A container format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "Container::name says it in words")]
pub enum Container {
    Mp4,
    Mov,
    Matroska,
    WebM,
    MpegTs,
    MpegPs,
    Avi,
    Flv,
    Asf,
    Mxf,
    Ogg,
    Wav,
    Mp3,
    Flac,
    Adts,
    Aiff,
    Caf,
    Amr,
    Au,
    W64,
    Mp2,
    Ac3,
    Eac3,
    Dts,
    WavPack,
    Ape,
    Dv,
    MpegVideo,
    Ivf,
}

impl Container {
    /// Every format, with its byte in a stored index and its name in API responses.
    const ALL: [(Self, u8, &'static str); 29] = [
        (Self::Mp4, 0, "mp4"),
        (Self::Mov, 1, "mov"),
        (Self::Matroska, 2, "matroska"),
        (Self::WebM, 3, "webm"),
        (Self::MpegTs, 4, "mpegts"),
        (Self::MpegPs, 5, "mpegps"),
        (Self::Avi, 6, "avi"),
        (Self::Flv, 7, "flv"),
        (Self::Asf, 8, "asf"),
        (Self::Mxf, 9, "mxf"),
        (Self::Ogg, 10, "ogg"),
        (Self::Wav, 11, "wav"),
        (Self::Mp3, 12, "mp3"),
        (Self::Flac, 13, "flac"),
        (Self::Adts, 14, "aac"),
        (Self::Aiff, 15, "aiff"),
        (Self::Caf, 16, "caf"),
        (Self::Amr, 17, "amr"),
        (Self::Au, 18, "au"),
        (Self::W64, 19, "w64"),
        (Self::Mp2, 20, "mp2"),
        (Self::Ac3, 21, "ac3"),
        (Self::Eac3, 22, "eac3"),
        (Self::Dts, 23, "dts"),
        (Self::WavPack, 24, "wavpack"),
        (Self::Ape, 25, "ape"),
        (Self::Dv, 26, "dv"),
        (Self::MpegVideo, 27, "mpegvideo"),
        (Self::Ivf, 28, "ivf"),
    ];

    /// Name in API responses: a short lower-case word.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    pub(crate) fn byte(self) -> u8 {
        self.row().1
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.iter().find(|row| row.1 == byte).map(|row| row.0)
    }

    fn row(self) -> &'static (Self, u8, &'static str) {
        Self::ALL.iter().find(|row| row.0 == self).expect("every kind is in the table")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_container_has_a_unique_byte() {
        for (number, (kind, byte, _)) in Container::ALL.iter().enumerate() {
            assert_eq!(usize::from(*byte), number);
            assert_eq!(Container::from_byte(kind.byte()), Some(*kind));
        }
        assert_eq!(Container::from_byte(29), None);
    }
}
