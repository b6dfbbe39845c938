//! What is about a data folder: its one server, the key file in it, a look into its files.
//!
//! These run on SQLite with a folder alone; `scripts/test.sh` chooses it.

mod look;
mod serve;
mod start;
mod upload;
