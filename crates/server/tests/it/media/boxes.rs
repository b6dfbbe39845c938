//! Parses boxes of segments by ISO/IEC 14496-12, without code of the packager.

/// The timing of a media segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// `tfdt`: decode time of its first sample, in ticks.
    pub(crate) decode_time: u64,
    /// Duration of each sample in ticks.
    pub(crate) durations: Vec<u32>,
}

impl Fragment {
    /// The decode time at which the next fragment must start.
    pub(crate) fn end(&self) -> u64 {
        self.decode_time + self.durations.iter().map(|ticks| u64::from(*ticks)).sum::<u64>()
    }
}

/// Parses a segment of one fragment.
///
/// Panics unless its samples fill its `mdat`, and the `mdat` the rest of the segment.
pub(crate) fn fragment(segment: &[u8]) -> Fragment {
    let boxes: Vec<_> = Boxes(segment).collect();
    let [(b"moof", moof), (b"mdat", mdat)] = boxes.as_slice() else {
        panic!("one moof and one mdat, not {:?}", boxes.iter().map(|(kind, _)| kind).collect::<Vec<_>>());
    };
    let traf = child(moof, b"traf");
    let mut tfdt = Fields(child(traf, b"tfdt"));
    let decode_time = if tfdt.u32() >> 24 == 0 { u64::from(tfdt.u32()) } else { tfdt.u64() };

    // 8.8.7: the defaults that the flags announce, in this order.
    let mut tfhd = Fields(child(traf, b"tfhd"));
    let flags = tfhd.u32();
    let _track = tfhd.u32();
    assert_eq!(flags & 0x2_0001, 0x2_0000, "offsets count from the moof");
    let _description = tfhd.u32_if(flags & 0x2 != 0);
    let default_duration = tfhd.u32_if(flags & 0x8 != 0);
    let default_size = tfhd.u32_if(flags & 0x10 != 0);

    // 8.8.8
    let mut trun = Fields(child(traf, b"trun"));
    let flags = trun.u32();
    let count = trun.u32();
    let data_offset = trun.u32_if(flags & 0x1 != 0).expect("samples lie somewhere");
    let _first_flags = trun.u32_if(flags & 0x4 != 0);
    let (mut durations, mut size) = (Vec::new(), 0);
    for _ in 0..count {
        durations.push(trun.u32_if(flags & 0x100 != 0).or(default_duration).expect("a duration"));
        size += trun.u32_if(flags & 0x200 != 0).or(default_size).expect("a size") as usize;
        let _flags = trun.u32_if(flags & 0x400 != 0);
        let _composition_offset = trun.u32_if(flags & 0x800 != 0);
    }
    assert!(trun.0.is_empty(), "bytes left in trun");
    assert_eq!(size, mdat.len(), "the samples are the mdat");
    assert_eq!(data_offset as usize + size, segment.len(), "and it is where they are said to be");
    Fragment { decode_time, durations }
}

/// Ticks per second of the only track of an init segment.
pub(super) fn timescale(init: &[u8]) -> u32 {
    let moov = child(init, b"moov");
    let mdhd = child(child(child(moov, b"trak"), b"mdia"), b"mdhd");
    let mut fields = Fields(mdhd);
    let is_wide = fields.u32() >> 24 == 1;
    // 8.4.2: two times come before it.
    for _ in 0..if is_wide { 4 } else { 2 } {
        fields.u32();
    }
    fields.u32()
}

/// The ticks that the only edit of an init segment skips at the start.
pub(super) fn skipped(init: &[u8]) -> u32 {
    let edits = child(child(child(child(init, b"moov"), b"trak"), b"edts"), b"elst");
    // 8.6.6: version and flags, the count, and for each edit its duration, media time and rate.
    let mut fields = Fields(edits);
    assert_eq!((fields.u32(), fields.u32()), (0, 1), "one edit of 32 bits");
    let _length = fields.u32();
    fields.u32()
}

fn child<'a>(body: &'a [u8], kind: &[u8; 4]) -> &'a [u8] {
    let mut found = Boxes(body).filter(|(found, _)| *found == kind).map(|(_, body)| body);
    let first = found.next().unwrap_or_else(|| panic!("no {}", String::from_utf8_lossy(kind)));
    assert!(found.next().is_none(), "one {}", String::from_utf8_lossy(kind));
    first
}

/// The boxes in these bytes: type and body.
struct Boxes<'a>(&'a [u8]);

impl<'a> Iterator for Boxes<'a> {
    type Item = (&'a [u8; 4], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let (size, rest) = self.0.split_first_chunk::<4>().expect("a size");
        let kind = rest.first_chunk::<4>().expect("a kind");
        let size = u32::from_be_bytes(*size) as usize;
        assert!((8..=self.0.len()).contains(&size), "a box of {size} bytes where {} are left", self.0.len());
        let (this, rest) = self.0.split_at(size);
        self.0 = rest;
        Some((kind, &this[8..]))
    }
}

/// Consecutive integers.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(&mut self) -> u32 {
        let (number, rest) = self.0.split_first_chunk().expect("a number");
        self.0 = rest;
        u32::from_be_bytes(*number)
    }

    fn u64(&mut self) -> u64 {
        u64::from(self.u32()) << 32 | u64::from(self.u32())
    }

    fn u32_if(&mut self, is_there: bool) -> Option<u32> {
        is_there.then(|| self.u32())
    }
}
