//! `kinora user list` and `kinora user sessions`.

use kinora_domain::{Clock as _, Member};
use kinora_store::Store;
use serde_json::{Value, json};

use crate::command::print::table;
use crate::command::{CommandContext, CommandError};
use crate::system::SystemClock;

pub(super) async fn people(context: &CommandContext, store: &Store) -> Result<(), CommandError> {
    let members = store.members().await?;
    let rows: Vec<_> = members
        .iter()
        .map(|member| {
            let person = &member.person;
            let name = person.name.clone().unwrap_or_default();
            vec![person.email.to_string(), name, member.role.word().to_owned(), state(member)]
        })
        .collect();
    context.print(&members.iter().map(view).collect(), &table(&["EMAIL", "NAME", "ROLE", "STATE"], &rows));
    Ok(())
}

fn state(member: &Member) -> String {
    let person = &member.person;
    match (person.disabled_at, &person.password, person.seen_at) {
        (Some(at), _, _) => format!("disabled {at}"),
        (None, None, _) => "no password yet".to_owned(),
        (None, Some(_), Some(at)) => format!("last seen {at}"),
        (None, Some(_), None) => "never seen".to_owned(),
    }
}

/// A person as part of other output.
pub(super) fn view(member: &Member) -> Value {
    let person = &member.person;
    json!({
        "id": person.id.to_string(),
        "email": person.email.as_str(),
        "name": person.name,
        "role": member.role.as_str(),
        "hasPassword": person.password.is_some(),
        "createdAt": person.created_at.to_string(),
        "disabledAt": person.disabled_at.map(|at| at.to_string()),
        "seenAt": person.seen_at.map(|at| at.to_string()),
    })
}

pub(super) async fn sessions(
    context: &CommandContext,
    store: &Store,
    member: &Member,
) -> Result<(), CommandError> {
    let sessions = store.sessions_of(member.person.id, SystemClock.now()).await?;
    let json = sessions.iter().map(|session| {
        json!({
            "id": session.id.to_string(),
            "createdAt": session.created_at.to_string(),
            "seenAt": session.seen_at.to_string(),
            "endsAt": session.valid_until().to_string(),
            "address": session.address,
            "client": session.client,
        })
    });
    let rows: Vec<_> = sessions
        .iter()
        .map(|session| {
            let (created, seen) = (session.created_at.to_string(), session.seen_at.to_string());
            vec![created, seen, session.address.clone(), session.client.clone()]
        })
        .collect();
    context.print(&json.collect(), &table(&["SIGNED IN", "LAST USED", "ADDRESS", "CLIENT"], &rows));
    Ok(())
}
