//! Receiving uploads, seen from outside: once with SQLite and a folder, once with PostgreSQL and a bucket.

#![allow(clippy::unwrap_used, reason = "a test may panic; clippy knows only functions marked as tests")]

mod lines;
mod nodes;
mod outcomes;
mod scans;
mod world;
