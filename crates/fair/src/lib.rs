//! Fair admission: limited resources are shared between claimants, for example workspaces.
//!
//! [`Places`] is the pure rule, [`Admission`] the queue of tasks that wait for a place, [`Budget`] the queue
//! for amounts of memory. A single claimant gets all places but one, so that another claimant can start at
//! once. A free place goes to the claimant that holds the fewest. D-0106.

mod admission;
mod budget;
mod places;

pub use admission::{Admission, Permit};
pub use budget::{Budget, Units};
pub use places::{Due, Places, Share};
