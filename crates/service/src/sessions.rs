//! Sessions of people: signed in, rotated, confirmed and ended.
//!
//! Argon2 runs before the transaction: it takes a third of a second. Each operation gets the hash that was
//! verified, and checks that the person still has it.

use kinora_domain::{
    Actor, AuditAction, Member, PasswordHash, PersonId, RequestOrigin, Secret, SecretHash, Session,
    SessionId, Timestamp, Who,
};
use kinora_store::Tx;

use crate::audit::NewAudit;
use crate::members::find;
use crate::{Error, Service};

/// A session with a new secret, which exists only here.
#[derive(Debug)]
pub struct OpenedSession {
    /// The session.
    pub session: Session,
    /// Its secret, for the cookie.
    pub secret: Secret,
    /// Its person.
    pub member: Member,
}

/// A sign-in whose password was verified.
#[derive(Debug)]
pub struct SignIn {
    /// The person.
    pub person: PersonId,
    /// The stored hash that the password matches.
    pub verified: PasswordHash,
    /// The hash that replaces it, if its parameters are outdated.
    pub rehash: Option<PasswordHash>,
    /// Where the request came from.
    pub origin: RequestOrigin,
}

/// Another password for the own account.
#[derive(Debug)]
pub struct ChangePassword {
    /// The stored hash that the old password matches.
    pub verified: PasswordHash,
    /// The hash of the new password.
    pub new: PasswordHash,
}

impl Service {
    /// Opens a session for a person who gave their password.
    ///
    /// Errors: `SignInOutdated` for a person who was disabled or removed, or has another password now.
    pub async fn sign_in(&self, request: SignIn) -> Result<OpenedSession, Error> {
        let now = self.clock.now();
        let secret = Secret::new(&*self.random);
        let session = Session::open(request.person, secret.hash(), &request.origin, now, &*self.random);
        let row = session.clone();
        let member = self
            .store
            .write(async move |tx| {
                let mut member = verified(tx, request.person, &request.verified).await?;
                if let Some(rehash) = &request.rehash {
                    member.person.password = Some(rehash.clone());
                    tx.save_person(&member.person).await?;
                }
                tx.insert_session(&row).await?;
                let actor = Actor { who: Who::of(&member), origin: request.origin.clone() };
                NewAudit::person(member.organisation, AuditAction::SignedIn, &member.person)
                    .push(tx, &actor, now)
                    .await?;
                Ok::<_, Error>(member)
            })
            .await?;
        Ok(OpenedSession { session, secret, member })
    }

    /// Ends a session: its person signs out. May run twice.
    pub async fn sign_out(&self, actor: &Actor, id: SessionId) -> Result<(), Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        self.store
            .write(async move |tx| {
                let Some(session) = tx.session(id).await? else { return Ok(()) };
                let member = find(tx, session.person).await?;
                tx.delete_session(session.person, id).await?;
                NewAudit::person(member.organisation, AuditAction::SignedOut, &member.person)
                    .push(tx, &actor, now)
                    .await
            })
            .await
    }

    /// Replaces the secret of a session that is due for it. `None`: another request did so meanwhile, or the
    /// session ended; `current` may be valid for some seconds. The audit log has no such row.
    pub async fn rotate_session(
        &self,
        id: SessionId,
        current: SecretHash,
    ) -> Result<Option<OpenedSession>, Error> {
        let now = self.clock.now();
        let secret = Secret::new(&*self.random);
        let hash = secret.hash();
        let rotated = self
            .store
            .write(async move |tx| {
                let due = |session: &Session| session.is_valid(now) && session.needs_rotation(&current, now);
                let Some(session) = tx.session(id).await?.filter(due) else { return Ok(None) };
                let session = session.rotate(hash, now);
                tx.save_session(&session, &current).await?;
                let member = find(tx, session.person).await?;
                Ok::<_, Error>(Some((session, member)))
            })
            .await?;
        Ok(rotated.map(|(session, member)| OpenedSession { session, secret, member }))
    }

    /// Records that the person of a session gave their password again, and replaces its secret.
    ///
    /// Errors: `SignInOutdated`.
    pub async fn confirm_session(
        &self,
        actor: &Actor,
        id: SessionId,
        password: PasswordHash,
    ) -> Result<OpenedSession, Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        let secret = Secret::new(&*self.random);
        let hash = secret.hash();
        let (session, member) = self
            .store
            .write(async move |tx| {
                let (session, member) = signed_in(tx, id, &password, now).await?;
                let confirmed = session.clone().confirm(hash, now);
                tx.save_session(&confirmed, &session.secret).await?;
                NewAudit::person(member.organisation, AuditAction::Confirmed, &member.person)
                    .push(tx, &actor, now)
                    .await?;
                Ok::<_, Error>((confirmed, member))
            })
            .await?;
        Ok(OpenedSession { session, secret, member })
    }

    /// Changes the password of the person of a session. Their other sessions and their links end; this
    /// session gets a new secret.
    ///
    /// Errors: `SignInOutdated`.
    pub async fn change_password(
        &self,
        actor: &Actor,
        id: SessionId,
        change: ChangePassword,
    ) -> Result<OpenedSession, Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        let secret = Secret::new(&*self.random);
        let hash = secret.hash();
        let (session, member) = self
            .store
            .write(async move |tx| {
                let (session, mut member) = signed_in(tx, id, &change.verified, now).await?;
                member.person.password = Some(change.new.clone());
                tx.save_person(&member.person).await?;
                let ended = tx.delete_sessions(member.person.id, Some(id)).await?;
                tx.end_links_of_person(member.person.id, now).await?;
                let renewed = session.clone().renew(hash, now);
                tx.save_session(&renewed, &session.secret).await?;
                NewAudit::person(member.organisation, AuditAction::PasswordChanged, &member.person)
                    .with("sessions", ended)
                    .push(tx, &actor, now)
                    .await?;
                Ok::<_, Error>((renewed, member))
            })
            .await?;
        Ok(OpenedSession { session, secret, member })
    }

    /// Ends one session of a person.
    ///
    /// Errors: `PersonNotFound`, `SessionNotFound`.
    pub async fn end_session(&self, actor: &Actor, person: PersonId, id: SessionId) -> Result<(), Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        self.store
            .write(async move |tx| {
                let member = find(tx, person).await?;
                if !tx.delete_session(person, id).await? {
                    return Err(Error::SessionNotFound);
                }
                record_ended(tx, &actor, &member, 1, now).await
            })
            .await
    }

    /// Ends all sessions of a person except `keep`, and returns their number.
    ///
    /// Errors: `PersonNotFound`.
    pub async fn end_other_sessions(
        &self,
        actor: &Actor,
        person: PersonId,
        keep: SessionId,
    ) -> Result<u64, Error> {
        self.end_sessions_except(actor, person, Some(keep)).await
    }

    /// Ends all sessions of a person, and returns their number.
    ///
    /// Errors: `PersonNotFound`.
    pub async fn end_sessions(&self, actor: &Actor, person: PersonId) -> Result<u64, Error> {
        self.end_sessions_except(actor, person, None).await
    }

    async fn end_sessions_except(
        &self,
        actor: &Actor,
        person: PersonId,
        keep: Option<SessionId>,
    ) -> Result<u64, Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        self.store
            .write(async move |tx| {
                let member = find(tx, person).await?;
                let ended = tx.delete_sessions(person, keep).await?;
                if ended > 0 {
                    record_ended(tx, &actor, &member, ended, now).await?;
                }
                Ok(ended)
            })
            .await
    }
}

/// The enabled person who still has this password.
async fn verified(tx: &mut Tx, person: PersonId, password: &PasswordHash) -> Result<Member, Error> {
    let member = tx.member(person).await?.ok_or(Error::SignInOutdated)?;
    let is_current = member.person.disabled_at.is_none() && member.person.password.as_ref() == Some(password);
    if is_current { Ok(member) } else { Err(Error::SignInOutdated) }
}

/// A valid session, and its person, who still has this password.
async fn signed_in(
    tx: &mut Tx,
    id: SessionId,
    password: &PasswordHash,
    now: Timestamp,
) -> Result<(Session, Member), Error> {
    let session = tx.session(id).await?.filter(|session| session.is_valid(now));
    let session = session.ok_or(Error::SignInOutdated)?;
    let member = verified(tx, session.person, password).await?;
    Ok((session, member))
}

async fn record_ended(
    tx: &mut Tx,
    actor: &Actor,
    member: &Member,
    count: u64,
    now: Timestamp,
) -> Result<(), Error> {
    NewAudit::person(member.organisation, AuditAction::SessionsEnded, &member.person)
        .with("sessions", count)
        .push(tx, actor, now)
        .await
}
