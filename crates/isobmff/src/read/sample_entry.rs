//! Sample entries: finds the entry that a track uses, and rewrites it for our init segments.

use super::super::{
    boxes::{BoxRef, Children, FieldReader, FourCc, children},
    error::ReadError,
};

/// Maximum length of a sample entry: parameter sets and colour profiles take a few KiB. It is part of every
/// init segment.
const ENTRY_LEN_MAX: usize = 64 << 10;
/// Maximum number of sample descriptions of a track that are compared: the number of bits in a 64-bit set.
const DESCRIPTIONS_MAX: u32 = u64::BITS;
/// The data reference of every sample entry we write: the file itself is the only one.
const DATA_REFERENCE: [u8; 2] = [0, 1];
/// Offset of the data reference, after six reserved bytes. ISO/IEC 14496-12, 8.5.2.2.
const DATA_REFERENCE_AT: usize = 6;

/// The entry with this `sample_description_index` (from 1) in the `stsd` of a track.
pub(super) fn sample_entry<'a>(stbl: &BoxRef<'a>, description_index: u32) -> Result<BoxRef<'a>, ReadError> {
    let index = description_index.checked_sub(1).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| sample_entries(stbl).nth(index)).ok_or_else(|| {
        ReadError::damaged(format!("a track uses sample description {description_index}, which is not there"))
    })
}

/// All entries of the `stsd` of a track; none if the box is missing.
fn sample_entries<'a>(stbl: &BoxRef<'a>) -> Children<'a> {
    const BEFORE_ENTRIES: usize = 8; // version, flags, count
    let entries = stbl.child(b"stsd").and_then(|stsd| stsd.body.get(BEFORE_ENTRIES..));
    children(entries.unwrap_or_default())
}

/// The `sample_description_index` (from 1) of the entry that all of `used_indexes` mean: editors that join
/// files write the same entry several times.
///
/// `None` if entries differ; 1 if there is no index. Each entry is compared once, however often the indexes
/// alternate.
pub(super) fn common_description_index(
    stbl: &BoxRef<'_>,
    mut used_indexes: impl Iterator<Item = u32>,
) -> Option<u32> {
    let first = used_indexes.next().unwrap_or(1);
    let mut others = 0u64;
    for description_index in used_indexes.filter(|&description| description != first) {
        others |= bit(description_index)?;
    }
    if others == 0 {
        return Some(first);
    }
    let required = others | bit(first)?;
    let mut missing = required;
    let mut common = None;
    for (description, entry) in (1..=DESCRIPTIONS_MAX).zip(sample_entries(stbl)) {
        let bit = bit(description)?;
        if required & bit != 0 {
            let entry = without_reference(&entry)?;
            if *common.get_or_insert(entry) != entry {
                return None;
            }
            missing &= !bit;
        }
    }
    (missing == 0).then_some(first)
}

/// A set with this description alone; `None` for an index above [`DESCRIPTIONS_MAX`].
fn bit(description_index: u32) -> Option<u64> {
    description_index.checked_sub(1).and_then(|index| 1u64.checked_shl(index))
}

/// An entry without its data reference.
fn without_reference<'a>(entry: &BoxRef<'a>) -> Option<(FourCc, &'a [u8], &'a [u8])> {
    Some((entry.kind, entry.body.get(..DATA_REFERENCE_AT)?, entry.body.get(DATA_REFERENCE_AT + 2..)?))
}

/// Rejects a track whose samples are in another file. ISO/IEC 14496-12, 8.7.2.
pub(super) fn check_data_references(minf: &BoxRef<'_>) -> Result<(), ReadError> {
    let Some(dref) = minf.descend(&[b"dinf", b"dref"]) else { return Ok(()) };
    let mut fields = FieldReader::new(dref.body);
    if fields.skip(8).is_none() {
        return Ok(());
    }
    for entry in children(fields.rest) {
        let mut fields = FieldReader::new(entry.body);
        let is_self_contained = fields.version_and_flags().is_none_or(|(_, flags)| flags & 1 != 0);
        // Some writers leave out the flag and also name no location: then there is no other file.
        let has_location = fields.rest.iter().any(|&byte| byte != 0);
        if !is_self_contained && has_location {
            return Err(ReadError::not_media("the samples of the movie lie in other files"));
        }
    }
    Ok(())
}

/// The entry as one box with a 32-bit size: `head` (its fields, with our data reference), then its child
/// boxes.
///
/// QuickTime's terminators and padding between the boxes are left out: some players parse them as a broken
/// box. Errors: `Damaged` beyond `ENTRY_LEN_MAX`.
pub fn build_sample_entry<'a>(
    kind: &[u8; 4],
    head: &[u8],
    child_boxes: impl IntoIterator<Item = BoxRef<'a>>,
) -> Result<Vec<u8>, ReadError> {
    let mut bytes = [&[0; 4], &kind[..], head].concat();
    if let Some(reference) = bytes.get_mut(8 + DATA_REFERENCE_AT..8 + DATA_REFERENCE_AT + 2) {
        reference.copy_from_slice(&DATA_REFERENCE);
    }
    for child in child_boxes {
        if bytes.len() + 8 + child.body.len() > ENTRY_LEN_MAX {
            return Err(ReadError::damaged(format!("a sample entry of more than {ENTRY_LEN_MAX} bytes")));
        }
        bytes.extend_from_slice(&box_size(child.body.len()));
        bytes.extend_from_slice(&child.kind.0);
        bytes.extend_from_slice(child.body);
    }
    let size = box_size(bytes.len() - 8);
    bytes[..4].copy_from_slice(&size);
    Ok(bytes)
}

/// A copy of the entry of the source with our data reference, for a decoder: decoders support the variants
/// of all writers.
///
/// Errors: `Damaged` beyond [`ENTRY_LEN_MAX`].
pub(super) fn copy_sample_entry(entry: &BoxRef<'_>) -> Result<Vec<u8>, ReadError> {
    if entry.body.len() + 8 > ENTRY_LEN_MAX {
        return Err(ReadError::damaged(format!("a sample entry of more than {ENTRY_LEN_MAX} bytes")));
    }
    build_sample_entry(&entry.kind.0, entry.body, [])
}

fn box_size(body_len: usize) -> [u8; 4] {
    u32::try_from(body_len + 8).expect("a sample entry is capped far below 4 GiB").to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{full_box, plain_box, words};

    #[test]
    fn equal_sample_entries_are_one() {
        let entry = |kind: &[u8; 4], reference: u8, body: &[u8]| {
            plain_box(kind, &[&[0, 0, 0, 0, 0, 0, 0, reference], body].concat())
        };
        let entries = [
            entry(b"avc1", 1, b"one"),
            entry(b"avc1", 2, b"one"),
            entry(b"avc1", 1, b"two"),
            entry(b"avc3", 1, b"one"),
        ];
        let stsd = full_box(b"stsd", 0, &[&words(&[4])[..], &entries.concat()].concat());
        let stbl = BoxRef { kind: FourCc(*b"stbl"), body: &stsd };
        let check = |used: &[u32], expected: Option<u32>| {
            assert_eq!(common_description_index(&stbl, used.iter().copied()), expected, "{used:?}");
        };
        check(&[], Some(1));
        check(&[2], Some(2));
        check(&[1, 2, 1, 2], Some(1));
        check(&[1, 2, 3], None);
        check(&[1, 4], None);
        check(&[1, 5], None);
        check(&[9, 9], Some(9));
        check(&[1, u32::MAX, 0], None);
    }

    #[test]
    fn alternating_sample_descriptions_are_compared_once() {
        // A search for each use would take 10^11 steps.
        let entries = plain_box(b"avc1", &[0; 8]).repeat(DESCRIPTIONS_MAX as usize);
        let stsd = full_box(b"stsd", 0, &[&words(&[DESCRIPTIONS_MAX])[..], &entries].concat());
        let body = [plain_box(b"free", &[]).repeat(300_000), stsd].concat();
        let stbl = BoxRef { kind: FourCc(*b"stbl"), body: &body };
        let alternating = |last: u32| (0..300_000u32).map(move |n| [1, 2, 3, last][n as usize % 4]);
        assert_eq!(common_description_index(&stbl, alternating(DESCRIPTIONS_MAX)), Some(1));
        assert_eq!(common_description_index(&stbl, alternating(DESCRIPTIONS_MAX + 1)), None, "not looked at");
    }
}
