//! Packages handmade sources and reads the result with a parser that shares no code with the writer.

#![allow(clippy::unwrap_used, reason = "everything here is a test")]

mod boxes;
mod fragments;
mod frames_match_source;
mod iframes;
mod inits;
mod manifests;
mod many_keyframes;
mod multivariant;
mod not_copied;
#[allow(dead_code, reason = "the tests of reading use more of it")]
#[path = "../read/patch_boxes.rs"]
mod patch_boxes;
mod progressive_mp4;
mod source;

/// Compares a whole text with the one in `tests/golden`.
fn assert_golden(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
