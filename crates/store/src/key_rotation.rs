//! Rotation of sealing keys while processes run. Every start of a server seals all secrets with its first
//! key, so that the other keys can be removed. No server starts without a key that a secret needs. D-0094.

use kinora_domain::Random;

use crate::Error;
use crate::keyring::Keyring;
use crate::prune::BATCH_MAX;
use crate::sql::{Row, Session, Statement, Value, statements, values};
use crate::{content_key, idempotency, webhook};

/// A column of sealed secrets. Its statements call `substr(column, 1, 11)` its *seal*: the part that names
/// the key.
pub(crate) struct SealedColumn {
    /// The kind of secrets, for error messages.
    pub(crate) what: &'static str,
    /// The seals in use: takes one, returns the next as `seal`.
    pub(crate) next_seal: Statement,
    /// A batch of rows: takes a seal, the key of the row before, and the number of rows. Returns the
    /// columns of `read`, and `sealed`.
    pub(crate) page: Statement,
    /// Replaces a secret: takes the newer, the older, and the key of the row. A secret that changed
    /// meanwhile stays.
    pub(crate) update: Statement,
    /// A key that sorts before all rows.
    pub(crate) start_key: fn() -> Vec<Value>,
    /// Reads the row key and the owner of a secret.
    pub(crate) read: fn(&Row) -> Result<KeyAndOwner, Error>,
    /// The action for secrets whose key was not given.
    pub(crate) without_key: WithoutKey,
}

/// The key of a row, and the owner that its secret is sealed for.
pub(crate) type KeyAndOwner = (Vec<Value>, String);

/// The action for secrets whose key was not given.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WithoutKey {
    /// The server does not start, because the secrets would be lost.
    FailStart,
    /// Deletes them: takes a seal and a number, returns the rows for [`idempotency::subtract_sizes`]. They
    /// cannot be read and would expire within a day.
    Drop(Statement),
}

const COLUMNS: [&SealedColumn; 4] =
    [&webhook::SECRETS, &webhook::PREVIOUS_SECRETS, &content_key::SECRETS, &idempotency::BODIES];
/// The most runs of one transaction that conflicts with others.
const ATTEMPTS_MAX: u32 = 8;

statements! {
    BEGIN = "BEGIN IMMEDIATE", postgres: "BEGIN ISOLATION LEVEL READ COMMITTED";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
}

/// Reseals with the first key all secrets of other keys, in small transactions. Other processes may read,
/// write and start servers meanwhile. Reads only indexes when there is nothing to reseal.
///
/// [`Error::KeyUnknown`], and no change, when a secret needs a key that was not given.
pub(crate) async fn rotate_keys(
    session: &mut Session,
    keyring: &Keyring,
    random: &dyn Random,
) -> Result<(), Error> {
    let mut older = Vec::new();
    for column in COLUMNS {
        for seal in seals(session, column).await? {
            if !keyring.has_key_for(&seal) && matches!(column.without_key, WithoutKey::FailStart) {
                return Err(Error::KeyUnknown { what: column.what });
            }
            if seal != keyring.first_seal() {
                older.push((column, seal));
            }
        }
    }
    for (column, seal) in older {
        match column.without_key {
            WithoutKey::Drop(statement) if !keyring.has_key_for(&seal) => {
                delete_all(session, statement, &seal).await?
            }
            _ => reseal_rows(session, column, &seal, keyring, random).await?,
        }
    }
    Ok(())
}

/// The seals of the secrets of a column: usually one or two.
async fn seals(session: &mut Session, column: &SealedColumn) -> Result<Vec<String>, Error> {
    let mut seals = Vec::new();
    let mut last = String::new();
    while let Some(row) = session.first(column.next_seal, values![last.as_str()]).await? {
        last = row.text("seal")?;
        seals.push(last.clone());
    }
    Ok(seals)
}

/// Walks once along the rows of a seal. A server with another first key may walk the other way meanwhile,
/// and both end.
async fn reseal_rows(
    session: &mut Session,
    column: &SealedColumn,
    seal: &str,
    keyring: &Keyring,
    random: &dyn Random,
) -> Result<(), Error> {
    let mut key = (column.start_key)();
    loop {
        let mut values = values![seal];
        values.append(&mut key);
        values.push(BATCH_MAX.into());
        let mut changes = Vec::new();
        for row in session.all(column.page, values).await? {
            let owner;
            (key, owner) = (column.read)(&row)?;
            let older = row.text("sealed")?;
            let newer = keyring.seal(&keyring.open(&older, &owner)?, &owner, random);
            changes.push([values![newer, older], key.clone()].concat());
        }
        if changes.is_empty() {
            return Ok(());
        }
        Batch::Set { statement: column.update, changes }.commit(session).await?;
    }
}

async fn delete_all(session: &mut Session, statement: Statement, seal: &str) -> Result<(), Error> {
    let batch = Batch::Drop { statement, seal };
    while batch.commit(session).await? > 0 {}
    Ok(())
}

/// One transaction.
enum Batch<'a> {
    /// Replaces secrets.
    Set { statement: Statement, changes: Vec<Vec<Value>> },
    /// Deletes responses.
    Drop { statement: Statement, seal: &'a str },
}

impl Batch<'_> {
    /// Retries on conflicts with other transactions. Returns the number of rows that were read.
    async fn commit(&self, session: &mut Session) -> Result<usize, Error> {
        let mut runs = 1;
        loop {
            match self.run_batch(session).await {
                Err(Error::Conflict) if runs < ATTEMPTS_MAX => runs += 1,
                done => return done,
            }
        }
    }

    async fn run_batch(&self, session: &mut Session) -> Result<usize, Error> {
        session.execute(BEGIN, values![]).await?;
        let mut done = self.run(session).await;
        if done.is_ok()
            && let Err(error) = session.execute(COMMIT, values![]).await
        {
            done = Err(error);
        }
        if done.is_err() {
            // Return the first error.
            let _ = session.execute(ROLLBACK, values![]).await;
            session.take_error();
        }
        done
    }

    async fn run(&self, session: &mut Session) -> Result<usize, Error> {
        match self {
            Self::Set { statement, changes } => {
                for change in changes {
                    session.execute(*statement, change.clone()).await?;
                }
                Ok(changes.len())
            }
            Self::Drop { statement, seal } => {
                let rows = session.execute_returning(*statement, values![*seal, BATCH_MAX]).await?;
                idempotency::subtract_sizes(session, &rows).await?;
                Ok(rows.len())
            }
        }
    }
}
