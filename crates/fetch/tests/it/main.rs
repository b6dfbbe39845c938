//! Tests through the public API: real sockets on loopback, with scripted servers.
#![allow(
    clippy::unwrap_used,
    reason = "everything here is a test, also what stands outside of a test function"
)]

mod attempts;
mod clock;
mod dns;
mod download;
mod open;
mod ranges;
mod recorder;
mod redirects;
mod server;
mod sources;
mod webhooks;
