//! Changes inputs box by box: the boxes around a change stay whole, so that the change is read.

use std::ops::Range;

use crate::exercise;

/// Boxes that hold boxes, and how many bytes stand in front of those.
const PARENTS: [(&[u8; 4], usize); 25] = [
    (b"moov", 0),
    (b"trak", 0),
    (b"edts", 0),
    (b"tref", 0),
    (b"mdia", 0),
    (b"minf", 0),
    (b"dinf", 0),
    (b"dref", 8),
    (b"stbl", 0),
    (b"stsd", 8),
    (b"avc1", 78),
    (b"hvc1", 78),
    (b"hev1", 78),
    (b"av01", 78),
    (b"mp4a", 28),
    (b"Opus", 28),
    (b"wave", 0),
    (b"udta", 0),
    (b"meta", 4),
    (b"ilst", 0),
    (b"mvex", 0),
    (b"moof", 0),
    (b"traf", 0),
    (b"mfra", 0),
    (b"gmhd", 0),
];
/// Numbers at which readers go wrong.
const WORDS: [u32; 12] =
    [0, 1, 2, 8, 0xffff, 0x0001_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_fff0, 0xffff_ffff, 1 << 30, 5_184_000];
/// Room that a body may grow by in one change.
const GROWTH_MAX: usize = 64;

/// A box of an input: where it lies, and the boxes it lies in.
#[derive(Debug, Clone)]
struct Place {
    whole: Range<usize>,
    /// Where the boxes begin whose sizes change with its own, outermost first.
    parents: Vec<usize>,
}

/// How Matroska begins, which has no boxes.
const EBML: &[u8] = b"\x1a\x45\xdf\xa3";

/// Changes the first `size` bytes of `data`, and says how many there are now. See `LLVMFuzzerCustomMutator`.
pub(crate) fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut dice = Dice(seed);
    if data[..size].starts_with(EBML) {
        let checkpoint = (dice.roll(64) == 0).then(|| exercise::checkpoint(&data[..size], 1 + dice.roll(4)));
        if let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.len() <= max_size) {
            data[..checkpoint.len()].copy_from_slice(&checkpoint);
            return checkpoint.len();
        }
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let mut places = Vec::new();
    list(&data[..size], 0..size, &mut Vec::new(), &mut places);
    if places.is_empty() || dice.roll(8) == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let bytes = &data[..size];
    let changed = match dice.roll(16) {
        0 if dice.roll(2) == 0 => Some(exercise::checkpoint(bytes, 1 + dice.roll(4))),
        0 => stored_index(bytes),
        1 => without(bytes, dice.pick(&places)),
        2..4 => with_copy(bytes, dice.pick(&places), dice.pick(&places)),
        4 => renamed(bytes, dice.pick(&places), dice.pick(&places)),
        5..10 => with_word(bytes, dice.pick(&places), &mut dice),
        _ => with_other_body(bytes, dice.pick(&places)),
    };
    match changed {
        Some(changed) if changed.len() <= max_size => {
            data[..changed.len()].copy_from_slice(&changed);
            changed.len()
        }
        _ => libfuzzer_sys::fuzzer_mutate(data, size, max_size),
    }
}

/// All boxes in a range of `bytes`, at every depth.
fn list(bytes: &[u8], range: Range<usize>, parents: &mut Vec<usize>, places: &mut Vec<Place>) {
    let mut at = range.start;
    while let Some(head) = bytes.get(at..range.end).and_then(|rest| rest.first_chunk::<8>()) {
        let size = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if size < 8 || size > range.end - at {
            return;
        }
        places.push(Place { whole: at..at + size, parents: parents.clone() });
        if let Some((_, head_len)) = PARENTS.iter().find(|(kind, _)| head[4..] == kind[..]) {
            parents.push(at);
            list(bytes, (at + 8 + head_len).min(at + size)..at + size, parents, places);
            parents.pop();
        }
        at += size;
    }
}

/// `bytes` with `range` replaced, and the sizes of the boxes around it corrected.
fn spliced(bytes: &[u8], range: Range<usize>, new: &[u8], around: &[usize]) -> Vec<u8> {
    let mut result = [&bytes[..range.start], new, &bytes[range.end..]].concat();
    for &at in around {
        if let Some(size) = result.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
            let grown =
                u32::from_be_bytes(*size).wrapping_add(new.len() as u32).wrapping_sub(range.len() as u32);
            *size = grown.to_be_bytes();
        }
    }
    result
}

/// The index of a source in place of the source.
fn stored_index(bytes: &[u8]) -> Option<Vec<u8>> {
    exercise::read(bytes).ok().map(|index| index.to_bytes())
}

fn without(bytes: &[u8], place: &Place) -> Option<Vec<u8>> {
    Some(spliced(bytes, place.whole.clone(), &[], &place.parents))
}

/// A box once more, in front of another.
fn with_copy(bytes: &[u8], from: &Place, to: &Place) -> Option<Vec<u8>> {
    Some(spliced(bytes, to.whole.start..to.whole.start, &bytes[from.whole.clone()], &to.parents))
}

/// A box with the kind of another.
fn renamed(bytes: &[u8], place: &Place, like: &Place) -> Option<Vec<u8>> {
    let kind = &bytes[like.whole.start + 4..like.whole.start + 8];
    Some(spliced(bytes, place.whole.start + 4..place.whole.start + 8, kind, &[]))
}

/// A box with one number that is another: counted from its size on, so that this one may be wrong, too.
fn with_word(bytes: &[u8], place: &Place, dice: &mut Dice) -> Option<Vec<u8>> {
    let at = place.whole.start + 4 * dice.roll(place.whole.len() / 4);
    let word = if dice.roll(4) == 0 {
        u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?).wrapping_add(dice.roll(5) as u32).wrapping_sub(2)
    } else {
        *dice.pick(&WORDS)
    };
    (at + 4 <= place.whole.end).then(|| spliced(bytes, at..at + 4, &word.to_be_bytes(), &[]))
}

/// A box whose body libFuzzer changed.
fn with_other_body(bytes: &[u8], place: &Place) -> Option<Vec<u8>> {
    let range = place.whole.start + 8..place.whole.end;
    let mut body = bytes[range.clone()].to_vec();
    let len = body.len();
    body.resize(len + GROWTH_MAX, 0);
    let max_len = body.len();
    let len = libfuzzer_sys::fuzzer_mutate(&mut body, len, max_len);
    let around = [&place.parents[..], &[place.whole.start]].concat();
    Some(spliced(bytes, range, &body[..len], &around))
}

/// Numbers from a seed: the same seed, the same change. Xorshift of 32 bits.
struct Dice(u32);

impl Dice {
    /// Below `sides`, or 0.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.max(1);
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % sides.max(1)
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.roll(all.len())]
    }
}
