//! Reads small real files and broken ones, and compares the result with a parser that shares no code with
//! ours.

#![allow(clippy::unwrap_used, reason = "everything here is a test")]

mod accepted;
mod broken_fragments;
mod checkpoint;
mod chunks;
mod codecs;
mod cross_check;
mod fragment_layouts;
mod fragmented;
mod hostile;
mod long_sources;
mod matroska;
mod not_copied;
mod patch_boxes;
mod rejected;
mod seeds;
mod spilled_boxes;
mod tracks;
mod truncated;
mod unusual_sources;

use kinora_formats::{Scanned, Scanner};
use kinora_index::Index;
use kinora_isobmff::ReadError;

/// A file of `tests/fixtures`.
fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Reads a whole file.
fn read(bytes: &[u8]) -> Result<Index, ReadError> {
    let mut scanner = Scanner::new(Some(bytes.len() as u64));
    scanner.push(bytes)?;
    scanner.finish().and_then(Scanned::into_index)
}
