//! What only PostgreSQL and S3 make possible: several processes on the same data, each with the roles it was
//! given.
//!
//! These run on that pair alone; `scripts/test.sh` chooses it.

mod away;
mod confinement;
mod fresh;
mod lock;
mod policy;
mod race;
mod roles;
mod secrets;
mod storage;
mod takeover;
mod trial_key;
mod usage;
