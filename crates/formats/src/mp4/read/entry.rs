//! Sample entries: finding the one a track uses, and bringing it into the form our init segments carry.

use super::super::{
    boxes::{BoxRef, Fields, children},
    error::ReadError,
};

/// Longest sample entry that is kept: parameter sets and colour profiles take a few KiB. It is part of every init segment.
const ENTRY_LEN_MAX: usize = 64 << 10;
/// The data reference of every sample entry we write: the file itself is the only one.
const DATA_REFERENCE: [u8; 2] = [0, 1];
/// Where the data reference lies: behind six reserved bytes. ISO/IEC 14496-12, 8.5.2.2.
const DATA_REFERENCE_AT: usize = 6;

/// The entry with this number (from 1) in the `stsd` of a track.
pub(super) fn sample_entry<'a>(stbl: &BoxRef<'a>, description: u32) -> Result<BoxRef<'a>, ReadError> {
    let entries = stbl.child(b"stsd").and_then(|stsd| {
        let mut fields = Fields::new(stsd.body);
        fields.skip(8)?; // version, flags, count
        Some(fields.rest)
    });
    let index = description.checked_sub(1).and_then(|index| usize::try_from(index).ok());
    entries.zip(index).and_then(|(entries, index)| children(entries).nth(index)).ok_or_else(|| {
        ReadError::damaged(format!("a track uses sample description {description}, which is not there"))
    })
}

/// Refuses a track whose samples lie in another file. ISO/IEC 14496-12, 8.7.2.
pub(super) fn check_data_references(minf: &BoxRef<'_>) -> Result<(), ReadError> {
    let Some(dref) = minf.descend(&[b"dinf", b"dref"]) else { return Ok(()) };
    let mut fields = Fields::new(dref.body);
    if fields.skip(8).is_none() {
        return Ok(());
    }
    for entry in children(fields.rest) {
        let mut fields = Fields::new(entry.body);
        let is_self_contained = fields.version_and_flags().is_none_or(|(_, flags)| flags & 1 != 0);
        // Some writers leave the flag out and name no place either: then there is no other file.
        let names_place = fields.rest.iter().any(|&byte| byte != 0);
        if !is_self_contained && names_place {
            return Err(ReadError::not_media("the samples of the movie lie in other files"));
        }
    }
    Ok(())
}

/// The entry as one box with a 32-bit size: `head` (its fields, with our data reference), then its child boxes.
///
/// QuickTime's terminators and padding between the boxes are left out: some players take them for a broken box.
/// Errors: `Damaged` beyond [`ENTRY_LEN_MAX`].
pub(super) fn rebuilt<'a>(
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

fn box_size(body_len: usize) -> [u8; 4] {
    u32::try_from(body_len + 8).expect("a sample entry is capped far below 4 GiB").to_be_bytes()
}
