//! Fetch seen from outside: real sockets on loopback, servers that do what they are told.
#![allow(
    clippy::unwrap_used,
    reason = "everything here is a test, also what stands outside of a test function"
)]

mod attempts;
mod clock;
mod download;
mod names;
mod open;
mod posts;
mod ranges;
mod recorder;
mod redirects;
mod server;
mod sources;
