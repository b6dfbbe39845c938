//! Limits of failed sign-ins and of unknown links, counted in memory. A refusal writes nothing.
//!
//! - After 5 failures from a client address an account waits for that address: 1 s, then twice as long
//!   after each failure, up to 5 minutes. Clients elsewhere do not wait, since others could lock the
//!   account. Email addresses without an account wait in the same way.
//! - A person who is signed in waits alike, for their session alone.
//! - A client address may fail 30 times in 10 minutes, with links 10 times.
//!
//! An attempt counts as failed from its beginning until its outcome is known. So attempts that run at once
//! cannot exceed a limit, and a client that disconnects does not avoid it.

mod accounts;
mod addresses;

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kinora_domain::{SessionId, Timestamp};
use kinora_web::serve::ClientAddress;

use accounts::{Accounts, Failures};
use addresses::Addresses;

/// Entries of each table. The oldest one is dropped for a new one, so that memory is bounded.
const ENTRIES_MAX: usize = 10_000;
/// Failed sign-ins of a client address within [`addresses::WINDOW_S`].
const SIGN_INS_MAX: usize = 30;
/// Unknown and ended links of a client address within the same time.
const LINKS_MAX: usize = 10;

/// The attempt is too early. Nothing was read or counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooEarly {
    /// Whole seconds until the next attempt, at least 1.
    pub(crate) retry_after_s: u32,
}

/// The attempts of a process.
pub(crate) struct Throttle {
    accounts: Mutex<Accounts>,
    sign_ins: Mutex<Addresses>,
    links: Mutex<Addresses>,
}

/// An attempt in progress. It has failed unless one of its methods says otherwise.
#[must_use]
pub(crate) struct Attempt<'a> {
    throttle: &'a Throttle,
    kind: Kind,
    address: Option<IpAddr>,
    begun_at: Timestamp,
}

enum Kind {
    /// `waits_for` is a key of [`Accounts`], `before` what it had failed before.
    Password {
        waits_for: String,
        before: Option<Failures>,
    },
    Link,
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            accounts: Mutex::default(),
            sign_ins: Mutex::new(Addresses::new(SIGN_INS_MAX)),
            links: Mutex::new(Addresses::new(LINKS_MAX)),
        }
    }
}

impl Throttle {
    /// Begins to check a password of this account, the key of an email address. A client on this machine
    /// has no address, and only the limit of the account.
    pub(crate) fn begin_password(
        &self,
        account: &str,
        client: ClientAddress,
        now: Timestamp,
    ) -> Result<Attempt<'_>, TooEarly> {
        let from = client.network().map(|network| network.to_string()).unwrap_or_default();
        self.begin(format!("{account} {from}"), client, now)
    }

    /// Begins to check the password of the person of a session.
    pub(crate) fn begin_own_password(
        &self,
        session: SessionId,
        client: ClientAddress,
        now: Timestamp,
    ) -> Result<Attempt<'_>, TooEarly> {
        self.begin(session.to_string(), client, now)
    }

    fn begin(
        &self,
        waits_for: String,
        client: ClientAddress,
        now: Timestamp,
    ) -> Result<Attempt<'_>, TooEarly> {
        let address = client.network();
        let (mut accounts, mut addresses) = (lock(&self.accounts), lock(&self.sign_ins));
        accounts.check(&waits_for, now)?;
        if let Some(address) = address {
            addresses.begin(address, now)?;
        }
        let before = accounts.begin(&waits_for, now);
        let kind = Kind::Password { waits_for, before };
        Ok(Attempt { throttle: self, kind, address, begun_at: now })
    }

    /// Begins to look up the secret of a link.
    pub(crate) fn begin_link(&self, client: ClientAddress, now: Timestamp) -> Result<Attempt<'_>, TooEarly> {
        let address = client.network();
        if let Some(address) = address {
            lock(&self.links).begin(address, now)?;
        }
        Ok(Attempt { throttle: self, kind: Kind::Link, address, begun_at: now })
    }
}

impl Attempt<'_> {
    /// The password or the link was right: earlier failures of the account no longer count.
    pub(crate) fn succeed(self) {
        self.uncount_address();
        if let Kind::Password { waits_for, .. } = self.kind {
            lock(&self.throttle.accounts).forget(&waits_for);
        }
    }

    /// Nothing was checked, for example because the server was busy.
    pub(crate) fn withdraw(self) {
        self.uncount_address();
        if let Kind::Password { waits_for, before } = self.kind {
            lock(&self.throttle.accounts).withdraw(&waits_for, before);
        }
    }

    fn uncount_address(&self) {
        let addresses = match self.kind {
            Kind::Password { .. } => &self.throttle.sign_ins,
            Kind::Link => &self.throttle.links,
        };
        if let Some(address) = self.address {
            lock(addresses).withdraw(address, self.begun_at);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whole seconds from `now` to `until`, rounded up, at least 1.
fn seconds_until(until: Timestamp, now: Timestamp) -> u32 {
    let micros = u64::try_from(until.micros_since(now)).unwrap_or(0);
    let seconds = micros.div_ceil(Timestamp::SECOND.unsigned_abs()).max(1);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
