//! Sharing what there is only so much of among claimants: places in a lane, transfers, memory.
//!
//! Knows nothing of what is shared, nor who a claimant is. [`Places`] says who is next; [`Admission`] has tasks wait for it, [`Budget`] for amounts. A lone
//! claimant gets all but one place, so that the first task of another one begins at once, and a free place goes to the claimant that
//! holds fewest. Decision 0106.

mod admission;
mod budget;
mod places;

pub use admission::{Admission, Permit};
pub use budget::{Budget, Units};
pub use places::{Due, Places, Share};
