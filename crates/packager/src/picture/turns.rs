//! Whose picture is made next: few at once of each client and of each source; the others wait, each in two
//! lines, one behind the other.
//!
//! Whoever waits in the line of a source has a turn of its own already. So nobody stands there with more than
//! a few pictures, and a client with a hundred of them is no further ahead of another one than with two.
//! D-0093.

use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use kinora_domain::PresentationId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::while_held::WhileHeld;
use crate::{Asker, Error, REQUEST_WAIT_MAX};

/// Pictures of one source and one kind that are made at once; the engine's queue has room for others.
const OF_SOURCE: usize = 4;
/// Pictures of one client that are made at once. Half of the places of a source: nobody takes them all.
const OF_CLIENT: usize = 2;
/// Pictures that wait in one line: all that a browser asks for at once on a connection of HTTP/2, which has
/// 100 streams or somewhat more (RFC 9113, 6.5.2).
const WAITING_MAX: usize = 100;
/// Pictures that wait in all lines of clients, and as many in those of sources, some KiB each: what a dozen
/// cores make while one may wait.
const WAITING_IN_ALL_MAX: usize = 1000;

/// What waits long does not take the places of what is there in a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A thumbnail: a poster that somebody looks for.
    Still,
    /// A clip or a sheet, of many pictures.
    Long,
}

/// Pictures of one kind of one source.
type OfSource = (PresentationId, Kind);

/// Who waits behind whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Whose {
    Client(IpAddr),
    /// All of whom nobody knows who they are, for each source.
    Unknown(OfSource),
}

/// The lines of all clients and all sources.
#[derive(Debug)]
pub(super) struct Turns {
    of_clients: Lines<Whose>,
    of_sources: Lines<OfSource>,
}

/// A picture may be made as long as this is there.
#[derive(Debug)]
pub(super) struct Turn {
    _of_client: Place,
    _of_source: Place,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { of_clients: Lines::new(), of_sources: Lines::new() }
    }

    /// Waits until one more picture may be made of this source for this client. Whoever leaves stands in no
    /// line any more.
    ///
    /// [`Error::Busy`] at once where too many wait already, else where it takes too long.
    pub(super) async fn take(
        &self,
        asker: Asker,
        presentation: PresentationId,
        kind: Kind,
    ) -> Result<Turn, Error> {
        let of_source = (presentation, kind);
        let (whose, at_once) = match asker.client() {
            Some(client) => (Whose::Client(client), OF_CLIENT),
            None => (Whose::Unknown(of_source), OF_SOURCE),
        };
        let both = async {
            let of_client = self.of_clients.take(whose, at_once).await?;
            let of_source = self.of_sources.take(of_source, OF_SOURCE).await?;
            Ok(Turn { _of_client: of_client, _of_source: of_source })
        };
        tokio::time::timeout(REQUEST_WAIT_MAX, both).await.unwrap_or(Err(Error::Busy))
    }
}

/// A line for each key.
#[derive(Debug)]
struct Lines<K> {
    lines: WhileHeld<K, Line>,
    waiting: Semaphore,
}

#[derive(Debug)]
struct Line {
    places: Arc<Semaphore>,
    waiting: Semaphore,
}

/// A place at the head of a line, given back when dropped.
#[derive(Debug)]
struct Place {
    _place: OwnedSemaphorePermit,
    /// It is known as long as somebody has a place.
    _line: Arc<Line>,
}

impl<K: Eq + Hash> Lines<K> {
    fn new() -> Self {
        Self { lines: WhileHeld::new(), waiting: Semaphore::new(WAITING_IN_ALL_MAX) }
    }

    /// Waits for one of `at_once` places, in the order of asking.
    async fn take(&self, key: K, at_once: usize) -> Result<Place, Error> {
        let new = || Line { places: Arc::new(Semaphore::new(at_once)), waiting: Semaphore::new(WAITING_MAX) };
        let line = self.lines.get(key, new);
        let free = Arc::clone(&line.places).try_acquire_owned();
        let place = match free {
            Ok(place) => place,
            // A place that becomes free goes to who waits, so nobody passes them above.
            Err(_) => {
                let _waiting = line.waiting.try_acquire().map_err(|_| Error::Busy)?;
                let _in_all = self.waiting.try_acquire().map_err(|_| Error::Busy)?;
                Arc::clone(&line.places).acquire_owned().await.map_err(|_| Error::Busy)?
            }
        };
        Ok(Place { _place: place, _line: line })
    }
}

#[cfg(test)]
mod tests;
