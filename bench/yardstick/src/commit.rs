//! Rows committed per second by writers that each wait for their commit: through the store, and with one
//! sync per commit.
//!
//! Both insert the same row into the same table of the same database, so the difference is the cost of a
//! commit.

mod each;
mod media;
mod store;

use std::future::Future;
use std::io::Write as _;
use std::time::Duration;

use kinora_domain::{Clock, JobId, Random, Timestamp};
use tokio::time::Instant;

use crate::Error;

pub(crate) use each::run as each;
pub(crate) use media::run as media;
pub(crate) use store::run as store;

/// Runs `writers` concurrent writers for some seconds and prints the number of acknowledged commits per
/// second.
async fn measure<W, F>(writers: &str, seconds: &str, writer: W) -> Result<(), Error>
where
    W: Fn(Instant) -> F,
    F: Future<Output = Result<u64, Error>> + Send + 'static,
{
    let (writers, seconds): (usize, u64) = (writers.parse()?, seconds.parse()?);
    let started = Instant::now();
    let until = started + Duration::from_secs(seconds);
    let running: Vec<_> = (0..writers).map(|_| tokio::spawn(writer(until))).collect();
    let mut commits = 0;
    for writer in running {
        commits += writer.await??;
    }
    let per_second = commits as f64 / started.elapsed().as_secs_f64();
    writeln!(std::io::stdout(), "{per_second}")?;
    Ok(())
}

/// Delay until the job of a row is due, in seconds: later than the end of any bench.
const FAR_S: i64 = 1_000_000;

struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "a bench has no clock but the system's")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let micros = since.expect("the clock is past 1970").as_micros();
        Timestamp::from_micros(i64::try_from(micros).expect("the clock is before the year 292000"))
    }
}

struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        uuid::Uuid::new_v4().into_bytes().iter().cycle().zip(bytes).for_each(|(from, to)| *to = *from);
    }
}

fn new_id() -> (JobId, Timestamp) {
    let now = SystemClock.now();
    (JobId::new(now, &SystemRandom), now)
}
