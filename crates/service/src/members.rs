//! The person that an operation is about, and the person who acts.

use kinora_domain::{Action, Actor, Member, PersonId, Who};
use kinora_store::Tx;

use crate::Error;

/// The person, or `PersonNotFound`.
pub(crate) async fn find(tx: &mut Tx, id: PersonId) -> Result<Member, Error> {
    tx.member(id).await?.ok_or(Error::PersonNotFound)
}

/// Rejects a person who may not do this any more. The check at the beginning of a request is not enough: a
/// role can change, or a person be disabled, before its body has arrived.
///
/// Errors: `NotAllowed`.
pub(crate) async fn check_allowed(tx: &mut Tx, actor: &Actor, action: Action) -> Result<(), Error> {
    let Who::Person { id, .. } = actor.who else { return Ok(()) };
    let member = tx.member(id).await?.filter(|member| member.person.disabled_at.is_none());
    let role = member.map(|member| member.role);
    if role.is_some_and(|role| role.may(action)) { Ok(()) } else { Err(Error::NotAllowed { action, role }) }
}
