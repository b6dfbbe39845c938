//! Tests inside the crate: all statements and their plans, and the schemas of both engines.

mod postgres;
mod schema;
mod sqlite;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kinora_domain::{Clock, Random, Timestamp};

use super::Statement;
use crate::{DatabaseLocation, Opener, StoreOptions};

struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0)
    }
}

/// Bytes that never repeat.
#[derive(Default)]
struct Counting(AtomicU64);

impl Random for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(1);
        let count = self.0.fetch_add(1, Ordering::SeqCst).to_le_bytes();
        bytes.iter_mut().rev().zip(count).for_each(|(byte, part)| *byte = part);
    }
}

fn options(database: DatabaseLocation) -> StoreOptions {
    let is_folder = matches!(database, DatabaseLocation::Folder(_));
    StoreOptions {
        database,
        opener: Opener::Server,
        secret_keys: (!is_folder).then(|| "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".to_owned()),
        clock: Arc::new(Epoch),
        random: Arc::new(Counting::default()),
        faults: None,
    }
}

/// The statements that every engine runs.
fn engine_less() -> Vec<Statement> {
    let lists = [
        crate::access_token::STATEMENTS,
        crate::audit::STATEMENTS,
        crate::content_key::STATEMENTS,
        crate::decoders::STATEMENTS,
        crate::delivery::CLAIM,
        crate::delivery::FINISH,
        crate::event::HISTORY,
        crate::event::STATEMENTS,
        crate::find::STATEMENTS,
        crate::job::LEASE,
        crate::job::STATEMENTS,
        crate::idempotency::STATEMENTS,
        crate::media::FIND,
        crate::media::METADATA,
        crate::media::SOURCE_USE,
        crate::media::STATEMENTS,
        crate::playlist::CONTENT,
        crate::playlist::MEMBERS,
        crate::playlist::STATEMENTS,
        crate::media::added_tracks::STATEMENTS,
        crate::one_time_link::STATEMENTS,
        crate::person::STATEMENTS,
        crate::prune::STATEMENTS,
        crate::rendition::STATEMENTS,
        crate::revoked_token::STATEMENTS,
        crate::session::STATEMENTS,
        crate::signing_key::STATEMENTS,
        crate::store::STATEMENTS,
        crate::upload::STATEMENTS,
        crate::upload::LEASE,
        crate::usage::STATEMENTS,
        crate::webhook::STATEMENTS,
        crate::workspace::STATEMENTS,
        crate::workspace_content::STATEMENTS,
    ];
    let of_media = crate::media::SELECTIONS.iter().chain(crate::media::FILTER_INDEXES).copied();
    let ends = [crate::playlist::PAGE, crate::signing_key::PAGE, crate::upload::PAGE]
        .map(|ends| [ends.newest, ends.oldest]);
    lists.into_iter().chain(of_media).flatten().copied().chain(ends.into_iter().flatten()).collect()
}
