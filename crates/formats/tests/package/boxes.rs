//! A small parser of boxes, from the view of a player.

use std::fmt::Write as _;

/// One box: its type, its bytes without the header, and its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mp4Box<'a> {
    pub(crate) kind: &'a str,
    pub(crate) start: usize,
    pub(crate) body: &'a [u8],
}

const CONTAINERS: &[&str] = &["moov", "trak", "edts", "mdia", "minf", "dinf", "stbl", "mvex", "moof", "traf"];

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The boxes of `bytes`, which must fill it exactly. An `mdat` may announce more than is available: its
/// samples follow.
pub(crate) fn parse(bytes: &[u8]) -> Vec<Mp4Box<'_>> {
    let mut boxes = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let kind = std::str::from_utf8(&bytes[start + 4..start + 8]).unwrap();
        let (size, header) = match u32_at(bytes, start) {
            1 => (u64_at(bytes, start + 8), 16),
            size => (u64::from(size), 8),
        };
        assert!(header as u64 <= size, "{kind} of {size} bytes");
        let end = start.saturating_add(usize::try_from(size).unwrap());
        assert!(end <= bytes.len() || kind == "mdat", "{kind} ends at {end} of {}", bytes.len());
        let end = end.min(bytes.len());
        boxes.push(Mp4Box { kind, start, body: &bytes[start + header..end] });
        start = end;
    }
    boxes
}

/// The first box on a path, for instance `moof/traf/tfdt`.
pub(crate) fn find<'a>(bytes: &'a [u8], path: &str) -> Mp4Box<'a> {
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let found =
        parse(bytes).into_iter().find(|found| found.kind == first).unwrap_or_else(|| panic!("no {first}"));
    rest.map_or(found, |rest| find(found.body, rest))
}

/// All boxes, one per line, indented; leaves with their bytes.
pub(crate) fn tree(bytes: &[u8]) -> String {
    fn lines(bytes: &[u8], depth: usize, text: &mut String) {
        for found in parse(bytes) {
            let size = found.body.len();
            let _ = write!(text, "{:indent$}{} {size}", "", found.kind, indent = 2 * depth);
            if CONTAINERS.contains(&found.kind) {
                text.push('\n');
                lines(found.body, depth + 1, text);
            } else {
                for (index, byte) in found.body.iter().enumerate() {
                    let _ = write!(text, "{}{byte:02x}", if index % 4 == 0 { " " } else { "" });
                }
                text.push('\n');
            }
        }
    }
    let mut text = String::new();
    lines(bytes, 0, &mut text);
    text
}

/// One sample of a fragment from the view of a player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FragmentSample {
    pub(crate) duration: u32,
    pub(crate) size: u32,
    pub(crate) flags: u32,
    pub(crate) composition_offset: i32,
}

/// The fields of a `moof`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) sequence: u32,
    pub(crate) track: u32,
    pub(crate) decode_time: u64,
    /// From the first byte of the `moof`.
    pub(crate) data_offset: u32,
    pub(crate) samples: Vec<FragmentSample>,
}

impl Fragment {
    pub(crate) fn duration(&self) -> u64 {
        self.samples.iter().map(|sample| u64::from(sample.duration)).sum()
    }

    pub(crate) fn size(&self) -> u64 {
        self.samples.iter().map(|sample| u64::from(sample.size)).sum()
    }

    /// Presentation times of the samples in media time, in decode order.
    pub(crate) fn presentation(&self) -> Vec<i64> {
        let mut decode = self.decode_time as i64;
        let times = self.samples.iter().map(|sample| {
            let at = decode + i64::from(sample.composition_offset);
            decode += i64::from(sample.duration);
            at
        });
        times.collect()
    }
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take(&mut self) -> u32 {
        let value = u32_at(self.0, 0);
        self.0 = &self.0[4..];
        value
    }

    fn take_if(&mut self, is_there: bool) -> Option<u32> {
        is_there.then(|| self.take())
    }
}

/// Reads the only fragment of a segment.
pub(crate) fn fragment(segment: &[u8]) -> Fragment {
    let moof = find(segment, "moof");
    assert_eq!(moof.start, 0);
    let mut tfhd = Fields(find(moof.body, "traf/tfhd").body);
    let flags = tfhd.take();
    assert_ne!(flags & 0x02_0000, 0, "offsets must count from the moof");
    assert_eq!(flags & 0x03, 0, "neither base offset nor description is ours");
    let track = tfhd.take();
    let default_duration = tfhd.take_if(flags & 0x08 != 0);
    let default_size = tfhd.take_if(flags & 0x10 != 0);
    let default_flags = tfhd.take_if(flags & 0x20 != 0);
    assert!(tfhd.0.is_empty());

    let tfdt = find(moof.body, "traf/tfdt").body;
    assert_eq!(tfdt[0], 1, "64-bit decode time");

    let mut trun = Fields(find(moof.body, "traf/trun").body);
    let flags = trun.take();
    let count = trun.take();
    let data_offset = trun.take_if(flags & 0x01 != 0).unwrap();
    let mut first_flags = trun.take_if(flags & 0x04 != 0);
    let samples = (0..count)
        .map(|_| FragmentSample {
            duration: trun.take_if(flags & 0x100 != 0).or(default_duration).unwrap(),
            size: trun.take_if(flags & 0x200 != 0).or(default_size).unwrap(),
            flags: trun.take_if(flags & 0x400 != 0).or(first_flags.take()).or(default_flags).unwrap(),
            composition_offset: trun.take_if(flags & 0x800 != 0).unwrap_or(0).cast_signed(),
        })
        .collect();
    assert!(trun.0.is_empty());
    Fragment {
        sequence: u32_at(find(moof.body, "mfhd").body, 4),
        track,
        decode_time: u64_at(tfdt, 4),
        data_offset,
        samples,
    }
}

/// The `media_time` of the only edit of an init segment.
pub(crate) fn media_time(init: &[u8]) -> i64 {
    let elst = find(init, "moov/trak/edts/elst").body;
    assert_eq!(elst[0], 0);
    assert_eq!((u32_at(elst, 4), u32_at(elst, 8), u32_at(elst, 16)), (1, 0, 0x0001_0000));
    i64::from(u32_at(elst, 12).cast_signed())
}

/// Ticks per second of the track of an init segment.
pub(crate) fn timescale(init: &[u8]) -> u32 {
    u32_at(find(init, "moov/trak/mdia/mdhd").body, 12)
}
