//! The content of a fragmented MP4, parsed independently.

/// One sample of a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    /// `tfdt`, durations before it, and composition offset, in ticks of its track.
    pub pts: i64,
    /// Byte range in the file.
    pub bytes: std::ops::Range<usize>,
    pub is_sync: bool,
}

/// The samples of track `track` (from 1), in decoding order. ISO/IEC 14496-12, 8.8.
pub(crate) fn samples(mp4: &[u8], track: u32) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut at = 0;
    for (kind, body) in boxes(mp4) {
        if kind == b"moof" {
            let tracks = boxes(body).filter(|(kind, _)| *kind == b"traf");
            samples.extend(tracks.flat_map(|(_, traf)| of_fragment(traf, track, at)));
        }
        at += 8 + body.len();
    }
    samples
}

/// Whether a box of this name is anywhere in the `moov`.
pub(crate) fn has_box(mp4: &[u8], name: &[u8; 4]) -> bool {
    let moov = boxes(mp4).find(|(kind, _)| *kind == b"moov").unwrap().1;
    moov.windows(4).any(|bytes| bytes == name)
}

/// The samples of `track` in a fragment whose `moof` begins at `start`.
fn of_fragment(traf: &[u8], track: u32, start: usize) -> Vec<Sample> {
    let find = |name: &[u8; 4]| boxes(traf).find(|(kind, _)| *kind == name).map(|(_, body)| body);
    let header = find(b"tfhd").unwrap();
    let flags = word(header, 0) & 0xff_ffff;
    if word(header, 4) != track {
        return Vec::new();
    }
    let mut at = 8 + if flags & 0x1 != 0 { 8 } else { 0 } + if flags & 0x2 != 0 { 4 } else { 0 };
    let mut default = |flag: u32| {
        let value = (flags & flag != 0).then(|| word(header, at));
        at += if value.is_some() { 4 } else { 0 };
        value.unwrap_or(0)
    };
    let (duration, size, sample_flags) = (default(0x8), default(0x10), default(0x20));

    let time = find(b"tfdt").unwrap();
    let mut dts = if time[0] == 1 {
        i64::try_from(u64::from_be_bytes(time[4..12].try_into().unwrap())).unwrap()
    } else {
        i64::from(word(time, 4))
    };
    let run = find(b"trun").unwrap();
    let flags = word(run, 0) & 0xff_ffff;
    assert!(flags & 0x1 != 0, "offsets count from the fragment");
    let mut begin = start + word(run, 8) as usize;
    let mut at = 12;
    let first_flags = (flags & 0x4 != 0).then(|| word(run, at));
    at += if first_flags.is_some() { 4 } else { 0 };
    let mut samples = Vec::new();
    for n in 0..word(run, 4) {
        let mut field = |flag: u32, default: u32| {
            if flags & flag == 0 {
                return default;
            }
            at += 4;
            word(run, at - 4)
        };
        let (duration, size) = (field(0x100, duration), field(0x200, size));
        let sample_flags =
            field(0x400, if n == 0 { first_flags.unwrap_or(sample_flags) } else { sample_flags });
        let offset = field(0x800, 0).cast_signed();
        let is_sync = sample_flags & 0x1_0000 == 0;
        let bytes = begin..begin + size as usize;
        begin = bytes.end;
        samples.push(Sample { pts: dts + i64::from(offset), bytes, is_sync });
        dts += i64::from(duration);
    }
    samples
}

/// The boxes of one level: name and content.
fn boxes(mut bytes: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (head, _) = bytes.split_first_chunk::<8>()?;
        let size = usize::try_from(word(head, 0)).unwrap();
        let (this, rest) = bytes.split_at(size);
        bytes = rest;
        Some((this[4..8].try_into().unwrap(), &this[8..]))
    })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}
