//! One request for a segment of a rung.

use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use tokio::sync::oneshot;

use super::cold::Place;
use super::line::{self, Looking, Made, Start};
use super::{Asker, RungLine};
use crate::{Error, Packaged, Packager, REQUEST_WAIT_MAX};

/// Tries of one request: the run that was joined, one of its own, and that one again.
const TRIES: u32 = 3;

impl Packager {
    /// Makes segment `n` of a rung, which was not kept when somebody was `looking`, or waits for whoever is
    /// making it.
    ///
    /// Errors: [`Error::Busy`] where too much is asked for at once and where it takes too long,
    /// [`Error::NoFrame`] and [`Error::Unmade`] where nothing comes out.
    pub(crate) async fn make(
        &self,
        packaged: &Arc<Packaged>,
        line: &Arc<RungLine>,
        n: u32,
        looking: Looking,
        asker: Option<Asker>,
    ) -> Result<Bytes, Error> {
        patiently(self.tries(packaged, line, n, looking, asker)).await
    }

    async fn tries(
        &self,
        packaged: &Arc<Packaged>,
        line: &Arc<RungLine>,
        n: u32,
        mut looking: Looking,
        asker: Option<Asker>,
    ) -> Result<Bytes, Error> {
        let mut last = Error::Busy;
        for _ in 0..TRIES {
            if line.is_broken() || line.state().is_given_up(n) {
                return Err(Error::NoFrame);
            }
            if let Some(wanted) = self.want(line, n, looking, asker).await? {
                let Wanted { made, start, place } = wanted;
                let leaving = Leaving { line, n };
                if let Some(start) = start {
                    self.start(packaged, line, start, place);
                }
                let made = made.await;
                drop(leaving);
                match made {
                    Ok(Ok(bytes)) => return Ok(bytes),
                    Ok(Err(error)) if !error.root().is_of_run() => return Err(Error::Shared(error)),
                    Ok(Err(error)) => last = Error::Shared(error),
                    // The run was given up for another one.
                    Err(_) => last = Error::Busy,
                }
            }
            // Somebody else may have kept it meanwhile.
            looking = line.looking();
            if let Some(bytes) = self.blob.get(line.key(n)).await? {
                return Ok(bytes);
            }
        }
        Err(last)
    }

    /// Joins a run, or says which must be started. Whoever may start none changes nothing of those under way.
    async fn want(
        &self,
        line: &RungLine,
        n: u32,
        looking: Looking,
        asker: Option<Asker>,
    ) -> Result<Option<Wanted>, Error> {
        if let Some(line::Wanted { made, .. }) = line.state().join(n) {
            return Ok(Some(Wanted { made, start: None, place: None }));
        }
        let place = match asker {
            Some(asker) => Some(self.encoders.cold.enter(asker).await),
            None => None,
        };
        let wanted = line.state().want(n, looking);
        // Whoever joined meanwhile needs no place.
        Ok(wanted.map(|line::Wanted { made, start }| Wanted {
            made,
            place: place.filter(|_| start.is_some()),
            start,
        }))
    }

    /// Segment `n` was asked for: begins what will be asked for next, where that is not there.
    pub(crate) fn make_ahead(&self, packaged: &Arc<Packaged>, line: &Arc<RungLine>, n: u32) {
        // Whoever waits with nothing to show goes first.
        if line.is_broken() || self.engine.load().waiting > 0 {
            return;
        }
        let start = line.state().ahead(n, line.work.count(packaged));
        if let Some(start) = start {
            self.start(packaged, line, start, None);
        }
    }

    pub(crate) fn note_watched(&self, line: &RungLine) {
        self.encoders.notes.watched(line.id, self.clock.now());
    }
}

/// What becomes of a request, and what whoever asks holds for it.
struct Wanted {
    made: oneshot::Receiver<Made>,
    start: Option<Start>,
    place: Option<Place>,
}

/// Waits for what somebody asks for as long as one request may, in all. [`Error::Busy`] behind that.
pub(super) async fn patiently<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::time::timeout(REQUEST_WAIT_MAX, work).await.unwrap_or(Err(Error::Busy))
}

impl RungLine {
    /// A moment before which somebody looks in the store for a segment.
    pub(crate) fn looking(&self) -> Looking {
        self.state().looking()
    }

    /// Where segment `n` is kept.
    pub(crate) fn key(&self, n: u32) -> ObjectKey {
        ObjectKey::Segment(self.id, n)
    }
}

/// Says that a request is over, however it ended.
pub(super) struct Leaving<'a> {
    pub(super) line: &'a RungLine,
    pub(super) n: u32,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.line.state().left(self.n);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_a_minute_in_all_however_often_it_tries() {
        let begun = Instant::now();
        let tries = async {
            for _ in 0..TRIES {
                sleep(REQUEST_WAIT_MAX / 2).await;
            }
            Ok(())
        };
        assert!(matches!(patiently(tries).await, Err(Error::Busy)));
        assert_eq!(begun.elapsed(), REQUEST_WAIT_MAX);
        let soon = async {
            sleep(REQUEST_WAIT_MAX / 2).await;
            Ok(())
        };
        assert!(patiently(soon).await.is_ok());
    }
}
