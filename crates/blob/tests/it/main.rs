//! The promises of the store, kept by a real folder and by a real S3 server; and what becomes of them when a
//! server misbehaves.

#![allow(clippy::unwrap_used, reason = "a test may panic; clippy knows only functions marked as tests")]

mod bucket;
mod check;
mod checkpoint;
mod fault;
mod folder;
mod grow;
mod grow_bucket;
mod grow_folder;
mod ledger;
mod list;
mod odd_growing;
mod odd_server;
mod odd_store;
mod read;
mod world;
mod write;
