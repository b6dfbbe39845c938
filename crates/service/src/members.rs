//! The person that an operation is about.

use kinora_domain::{Member, PersonId};
use kinora_store::Tx;

use crate::Error;

/// The person, or `PersonNotFound`.
pub(crate) async fn find(tx: &mut Tx, id: PersonId) -> Result<Member, Error> {
    tx.member(id).await?.ok_or(Error::PersonNotFound)
}
