//! Fair admission: limited resources are shared between claimants, for example workspaces.
//!
//! [`FairSlots`] is the pure rule, [`Admission`] the queue of tasks that wait for a slot, [`Budget`] the
//! queue for amounts of memory. A single claimant gets all slots but one, so that another claimant can start
//! at once. A free slot goes to the claimant that holds the fewest. D-0106.

mod admission;
mod budget;
mod slots;

pub use admission::{Admission, Permit};
pub use budget::{Budget, UnitsPermit};
pub use slots::{DueClaimant, FairSlots, Share};
