//! Features of PostgreSQL and S3 only: several processes on the same data, each with its roles.
//!
//! These tests run on that pair alone; `scripts/test.sh` chooses it.

mod confinement;
mod consistency;
mod database_outage;
mod documents;
mod lock;
mod policy;
mod race;
mod roles;
mod secrets;
mod storage;
mod takeover;
mod trial_key;
mod usage;
