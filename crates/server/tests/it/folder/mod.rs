//! Features of a data folder: its single server, the key file, its files, and a server on loopback.
//!
//! These tests run on SQLite with a folder alone; `scripts/test.sh` chooses it.

mod confinement;
mod permissions;
mod schema_25;
mod secrets_at_rest;
mod serve;
mod start;
mod undecodable;
mod upload;
