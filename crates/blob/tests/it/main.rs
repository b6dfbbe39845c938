//! The promises of the store, kept by a real folder.

#![allow(clippy::unwrap_used, reason = "a test may panic; clippy knows only functions marked as tests")]

mod fault;
mod list;
mod read;
mod world;
mod write;
