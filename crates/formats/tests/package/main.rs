//! Packages hand-made sources and reads the result with a parser that shares no code with the writer.

#![allow(clippy::unwrap_used, reason = "everything here is a test")]

mod boxes;
mod decoded;
mod files;
mod fragments;
mod iframes;
mod inits;
mod manifests;
mod many;
mod not_copied;
mod offers;
mod source;
#[allow(dead_code, reason = "the tests of reading use more of it")]
#[path = "../read/surgery.rs"]
mod surgery;

/// Compares a whole text with the one in `tests/golden`.
fn assert_golden(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
