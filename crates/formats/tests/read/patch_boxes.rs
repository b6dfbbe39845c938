//! Changes boxes inside a file, and the sizes of their parents.

/// Applies `change` to the body of the first box at this path, or to an empty body if there is none.
///
/// Only for files whose `moov` is at the end: the bytes after a box that grows move.
pub(crate) fn changed(bytes: &[u8], path: &[&str], change: &dyn Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let Some((first, rest)) = path.split_first() else { return change(bytes) };
    let (head, mut boxes) = bytes.split_at(head_len(first));
    let mut result = head.to_vec();
    let mut is_found = false;
    while !boxes.is_empty() {
        let size = u32::from_be_bytes(boxes[..4].try_into().unwrap()) as usize;
        let (one, behind) = boxes.split_at(size);
        if &one[4..8] == first.as_bytes() && !is_found {
            is_found = true;
            let body = changed(&one[8..], rest, change);
            result.extend_from_slice(&(body.len() as u32 + 8).to_be_bytes());
            result.extend_from_slice(&one[4..8]);
            result.extend_from_slice(&body);
        } else {
            result.extend_from_slice(one);
        }
        boxes = behind;
    }
    assert!(is_found, "no box {first}");
    result
}

/// Length of the fields before the boxes of this kind: `stsd` counts them, a sample entry describes itself.
fn head_len(child: &str) -> usize {
    match child {
        "avc1" | "mp4a" | "hvc1" | "hev1" | "av01" | "Opus" => 8,
        "avcC" | "hvcC" | "av1C" => 78,
        "esds" | "dOps" => 28,
        _ => 0,
    }
}

/// Replaces every occurrence of some bytes by the same number of others.
pub(crate) fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut result = bytes.to_vec();
    let positions: Vec<_> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from)
        .map(|(at, _)| at)
        .collect();
    assert!(!positions.is_empty(), "nothing to replace");
    for at in positions {
        result[at..at + to.len()].copy_from_slice(to);
    }
    result
}

/// A box with this body.
pub(crate) fn boxed(kind: &str, body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 8).to_be_bytes()[..], kind.as_bytes(), body].concat()
}

/// Big-endian words.
pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// The path of a box of the sample table of the first track.
pub(crate) fn table(kind: &'static str) -> [&'static str; 6] {
    ["moov", "trak", "mdia", "minf", "stbl", kind]
}
