//! One request for a segment of a rung.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kinora_blob::ObjectKey;

use super::{Asker, RungLine};
use crate::{Error, Packaged, Packager};

/// How long a request waits before it is told to come back, when it joins what is still being made. Players give up after 10 s,
/// and count what they gave up on as an error.
const WAIT_MAX: Duration = Duration::from_secs(8);
/// Tries of one request: the run that was joined, one of its own, and that one again.
const TRIES: u32 = 3;

impl Packager {
    /// Makes segment `n` of a rung, which is not kept, or waits for whoever is making it.
    ///
    /// Errors: [`Error::Busy`] where too much is asked for at once, [`Error::NoFrame`] and [`Error::Unmade`] where nothing comes out.
    pub(crate) async fn make(
        &self,
        packaged: &Arc<Packaged>,
        line: &Arc<RungLine>,
        n: u32,
        asker: Option<Asker>,
    ) -> Result<Bytes, Error> {
        let mut last = Error::Busy;
        for _ in 0..TRIES {
            if line.is_broken() || line.state().is_given_up(n) {
                return Err(Error::NoFrame);
            }
            let wanted = line.state().want(n);
            let leaving = Leaving { line, n };
            if let Some(start) = wanted.start {
                let place = match asker.map(|asker| self.encoders.cold.enter(asker)).transpose() {
                    Ok(place) => place,
                    Err(busy) => {
                        line.state().ended(start.id, &Arc::new(Error::Busy));
                        return Err(busy);
                    }
                };
                self.start(packaged, line, start, place);
            }
            let made = tokio::time::timeout(WAIT_MAX, wanted.made).await;
            drop(leaving);
            match made {
                Err(_) => return Err(Error::Busy),
                Ok(Ok(Ok(bytes))) => return Ok(bytes),
                Ok(Ok(Err(error))) if !error.root().is_of_run() => return Err(Error::Shared(error)),
                Ok(Ok(Err(error))) => last = Error::Shared(error),
                // The run was given up for another one.
                Ok(Err(_)) => last = Error::Busy,
            }
            // Somebody else may have kept it meanwhile.
            if let Some(bytes) = self.blob.get(ObjectKey::Segment(line.id, n)).await? {
                return Ok(bytes);
            }
        }
        Err(last)
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

impl RungLine {
    /// Where segment `n` is kept.
    pub(crate) fn key(&self, n: u32) -> ObjectKey {
        ObjectKey::Segment(self.id, n)
    }
}

/// Says that a request is over, however it ended.
struct Leaving<'a> {
    line: &'a RungLine,
    n: u32,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.line.state().left(self.n);
    }
}
