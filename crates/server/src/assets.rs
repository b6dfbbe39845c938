//! The web frontend, embedded.

use std::borrow::Cow;

use kinora_web::assets::Assets;
use rust_embed::RustEmbed;

/// The output of `make web`. Empty in a binary of `cargo build` alone.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Built;

/// A page with the command to run, instead of one that was not built.
#[derive(RustEmbed)]
#[folder = "../../web/stub"]
struct Stub;

/// Pages and their files: the built ones, else the stub.
pub(crate) struct Embedded;

impl Assets for Embedded {
    fn get(&self, path: &str) -> Option<Cow<'static, [u8]>> {
        Built::get(path).or_else(|| Stub::get(path)).map(|file| file.data)
    }
}
