//! Handwritten boxes for tests.

/// A box with this body.
pub(crate) fn plain_box(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 8).to_be_bytes()[..], kind, body].concat()
}

/// A full box with flags 0.
pub(crate) fn full_box(kind: &[u8; 4], version: u8, body: &[u8]) -> Vec<u8> {
    plain_box(kind, &[&[version, 0, 0, 0], body].concat())
}

/// Big-endian words.
pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}
