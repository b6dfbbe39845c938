//! Builds the server anew when the web part was: the embedded files are read while it compiles.

#![allow(missing_docs, clippy::print_stdout, reason = "cargo reads what a build script prints")]

fn main() {
    println!("cargo::rerun-if-changed=../../web/dist");
    println!("cargo::rerun-if-changed=../../web/stub");
}
