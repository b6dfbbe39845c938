//! Receives uploads through the public API: with SQLite and a folder, and with PostgreSQL and a bucket.

#![allow(clippy::unwrap_used, reason = "a test may panic; clippy knows only functions marked as tests")]

mod connections;
mod nodes;
mod outcomes;
mod scans;
mod world;
