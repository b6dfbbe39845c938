//! What is about a data folder: its one server, the key file in it, a look into its files, and a server on
//! loopback.
//!
//! These run on SQLite with a folder alone; `scripts/test.sh` chooses it.

mod confinement;
mod look;
mod private;
mod schema_25;
mod serve;
mod start;
mod undecodable;
mod upload;
