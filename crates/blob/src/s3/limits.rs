//! Every limit of the way to an S3 store, with its default and where that comes from.

use std::time::Duration;

/// The unit in which memory for parts is counted.
pub(super) const MIB: u64 = 1 << 20;

/// The most parts of one object. Amazon S3, "Amazon S3 multipart upload limits".
pub(super) const PARTS_MAX: u64 = 10_000;

/// The smallest part but the last. Amazon S3, "Amazon S3 multipart upload limits".
pub(super) const PART_LEN_MIN: u64 = 5 * MIB;

/// Limits of a store. The default is for a store in the same data centre, and bearable for one far away.
#[derive(Debug, Clone)]
pub struct S3Limits {
    /// To a connection, TLS included. Twice what object_store and the AWS guides allow, for stores far away.
    pub connect: Duration,
    /// From the start of one try to its answer, besides the time for the bytes it carries.
    ///
    /// Stores answer within a second; only a store in trouble takes longer, and then another try helps more than patience.
    pub answer: Duration,
    /// To the first byte of a read of an object, over all its tries: a viewer waits for it. Each try has half of it, so that another
    /// connection helps where one hangs. Jobs that meet it come again.
    pub read: Duration,
    /// A try that carries bytes more slowly than this is given up: with 256 KiB/s a part has half a minute.
    pub bytes_per_second_min: u64,
    /// Tries of one request. Stores ask for a few when they are busy (503 SlowDown) or move their data about.
    pub tries: usize,
    /// What is waited before the second try, at least; twice as much before each further one, and up to as much again by chance.
    pub retry_delay_min: Duration,
    /// What is waited between two tries at most, besides chance.
    pub retry_delay_max: Duration,
    /// Bytes of a part, in whole MiB; parts of objects that are announced to be too long for 10,000 of these are longer.
    ///
    /// The AWS command line's own default: some 100 requests a GB, and two of them are little memory.
    pub part_len: u64,
    /// Memory for the parts of all writers of this store, in whole MiB.
    ///
    /// 64 parts of usual length: enough for 32 writers as fast as the network, or 64 that wait for their sources. Others wait for
    /// their first part, and their sources with them.
    pub parts_memory: u64,
}

impl Default for S3Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(15),
            read: Duration::from_secs(8),
            bytes_per_second_min: 256 << 10,
            tries: 4,
            retry_delay_min: Duration::from_millis(100),
            retry_delay_max: Duration::from_secs(2),
            part_len: 8 * MIB,
            parts_memory: 512 * MIB,
        }
    }
}

impl S3Limits {
    /// How long one try may take that carries so many bytes.
    pub(super) fn time_for(&self, bytes: u64) -> Duration {
        self.answer + Duration::from_secs(bytes / self.bytes_per_second_min.max(1))
    }

    /// The length of the parts of an object. All but the last are of this length: Cloudflare R2 takes no others.
    pub(super) fn part_len(&self, announced: Option<u64>) -> u64 {
        let needed = announced.unwrap_or(0).div_ceil(PARTS_MAX);
        self.part_len.max(needed).max(PART_LEN_MIN).next_multiple_of(MIB)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest source that is fetched (`kinora_fetch::Limits::bytes_max`).
    const SOURCE_MAX: u64 = 1 << 40;

    #[test]
    fn parts_are_long_enough_for_the_announced_length_and_two_fit_into_memory() {
        let limits = S3Limits::default();
        let check = |announced: Option<u64>, expected_mib: u64| {
            let part_len = limits.part_len(announced);
            assert_eq!(part_len, expected_mib * MIB, "{announced:?}");
            assert!(announced.unwrap_or(0).div_ceil(part_len) <= PARTS_MAX, "{announced:?}");
            assert!(2 * part_len <= limits.parts_memory, "{announced:?}");
        };
        check(None, 8);
        check(Some(0), 8);
        check(Some(80_000 * MIB), 8);
        check(Some(80_000 * MIB + 1), 9);
        check(Some(SOURCE_MAX), 105);
    }

    #[test]
    fn no_part_is_shorter_than_stores_take() {
        let limits = S3Limits { part_len: 1, ..S3Limits::default() };
        assert_eq!(limits.part_len(None), PART_LEN_MIN);
    }

    #[test]
    fn a_try_has_time_for_the_bytes_it_carries() {
        let limits = S3Limits::default();
        assert_eq!(limits.time_for(0), Duration::from_secs(15));
        assert_eq!(limits.time_for(8 * MIB), Duration::from_secs(47));
    }
}
