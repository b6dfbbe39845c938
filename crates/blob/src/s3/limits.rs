//! All limits of the requests to an S3 store, with their defaults and sources.

use std::time::Duration;

/// The unit of memory for parts.
pub(super) const MIB: u64 = 1 << 20;

/// The most parts of one object. Amazon S3, "Amazon S3 multipart upload limits".
pub(super) const PARTS_MAX: u64 = 10_000;

/// The smallest part but the last. Amazon S3, "Amazon S3 multipart upload limits".
pub(super) const PART_LEN_MIN: u64 = 5 * MIB;

/// The longest part. Amazon S3, "Amazon S3 multipart upload limits".
const PART_LEN_MAX: u64 = 5 << 30;

/// Parts of a growing object of unknown length after which their length doubles, and the most doublings.
const DOUBLED_AFTER: u64 = 1000;
const DOUBLED_MAX: u64 = PARTS_MAX / DOUBLED_AFTER - 1;

/// Limits of a store. The defaults suit a store in the same data centre, and work for a distant one.
#[derive(Debug, Clone)]
pub struct S3Limits {
    /// The connect timeout, TLS included. Twice the timeout of object_store and the AWS guides, for distant
    /// stores.
    pub connect_timeout: Duration,
    /// The timeout of one try up to its response, without the time for the bytes of the body.
    ///
    /// Stores respond within a second. Only a store with problems takes longer, and then a retry helps more
    /// than a longer timeout.
    pub response_timeout: Duration,
    /// The timeout up to the first byte of an object read, over all its tries, because a viewer waits for
    /// it. Each try has half of it, so that a retry can replace a connection that hangs. Jobs retry later.
    pub read_timeout: Duration,
    /// The lowest transfer rate of a try; a slower one is aborted. With 256 KiB/s a part has half a minute.
    pub bytes_per_second_min: u64,
    /// The most tries of one request. Stores require a few when they are busy (503 SlowDown) or move their
    /// data.
    pub attempts_max: usize,
    /// The shortest delay before the second try. It doubles before each further one, plus a random delay of
    /// up to the same length.
    pub retry_delay_min: Duration,
    /// The longest delay between two tries, without the random part.
    pub retry_delay_max: Duration,
    /// Bytes of a part, in whole MiB. Objects with an announced length above 10,000 of these have longer
    /// parts.
    ///
    /// The default of the AWS command line: some 100 requests per GB, and two of them need little memory.
    pub part_len: u64,
    /// Memory for the parts of all writers of this store, in whole MiB.
    ///
    /// 64 parts of the default length: enough for 64 writers. Others wait for their first part, and so do
    /// their sources. While less than an eighth is in use, a writer fills its second part while the first
    /// one is sent.
    pub parts_memory: u64,
    /// How long half a MiB of a growing object may wait in memory before it is stored as a piece.
    ///
    /// A transfer of more than 130 MiB/s fills a default part in this time and needs no pieces. One of 10
    /// MB/s makes some 16 puts per second. A killed process costs it half a MiB, 1 % of the bytes of five
    /// seconds.
    pub sync_interval: Duration,
}

impl Default for S3Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            response_timeout: Duration::from_secs(15),
            read_timeout: Duration::from_secs(8),
            bytes_per_second_min: 256 << 10,
            attempts_max: 4,
            retry_delay_min: Duration::from_millis(100),
            retry_delay_max: Duration::from_secs(2),
            part_len: 8 * MIB,
            parts_memory: 512 * MIB,
            sync_interval: Duration::from_millis(60),
        }
    }
}

impl S3Limits {
    /// The part of the memory for parts that one workspace cannot use: one part, so that another workspace
    /// can always begin. Zero if the memory is for fewer than four parts.
    pub(super) fn reserved_for_others(&self) -> u64 {
        if self.parts_memory < 4 * self.part_len { 0 } else { self.part_len }
    }

    /// The memory in use below which a writer may fill a second part while its first one is sent: an eighth
    /// of the memory for parts. Above it a writer first waits until its part is sent.
    ///
    /// A few transfers then keep the connection to the store busy, and many transfers use one part each.
    pub(super) fn fill_ahead_limit(&self) -> u64 {
        self.parts_memory / 8
    }

    /// The part of the memory for parts that idle writers may use: a quarter, and at least one part.
    pub(super) fn idle_memory(&self) -> u64 {
        (self.parts_memory / 4).max(self.part_len)
    }

    /// The part of the memory for idle writers that one workspace cannot use.
    pub(super) fn idle_reserved_for_others(&self) -> u64 {
        if self.idle_memory() < 4 * self.part_len { 0 } else { self.part_len }
    }

    /// The timeout of one try with a body of `bytes` bytes.
    pub(super) fn timeout_for(&self, bytes: u64) -> Duration {
        self.response_timeout + Duration::from_secs(bytes / self.bytes_per_second_min.max(1))
    }

    /// The part length of an object. All but the last part have this length, because Cloudflare R2 accepts
    /// no others.
    pub(super) fn part_len(&self, announced_len: Option<u64>) -> u64 {
        let needed = announced_len.unwrap_or(0).div_ceil(PARTS_MAX);
        self.part_len.max(needed).max(PART_LEN_MIN).next_multiple_of(MIB)
    }
}

/// The longest part for an announced length alone: with 10,000 of these 312 GiB.
const TRUSTED_PART_LEN: u64 = 32 * MIB;
/// A longer part is at most `1 / TRUSTED_SHARE` of the bytes so far.
const TRUSTED_SHARE: u64 = 64;

impl S3Limits {
    /// The length of part `number` (from 0) of a growing object, which begins at `start`, after a part of
    /// length `previous_part_len`.
    ///
    /// Parts have one length as long as that is enough: Cloudflare R2 accepts no others. If the length of
    /// the object is unknown, the part length doubles after each thousand parts. So the default of 8 MiB
    /// reaches past 5 TiB, the longest object of Amazon S3. Limited by [`S3Limits::growing_part_len_max`],
    /// and by the bytes so far: an announced length beyond 312 GiB is trusted only as its bytes arrive.
    pub(super) fn growing_part_len(
        &self,
        number: u64,
        start: u64,
        previous_part_len: u64,
        announced_len: Option<u64>,
    ) -> u64 {
        let needed = match announced_len {
            Some(len) => {
                let parts_left = PARTS_MAX.saturating_sub(number).max(1);
                let needed = len.saturating_sub(start).div_ceil(parts_left);
                // An announcement alone gives no more memory.
                self.part_len.max(needed.min((start / TRUSTED_SHARE).max(TRUSTED_PART_LEN)))
            }
            None => self.part_len.saturating_mul(1 << (number / DOUBLED_AFTER).min(DOUBLED_MAX)),
        };
        needed.max(previous_part_len).max(PART_LEN_MIN).next_multiple_of(MIB).min(self.growing_part_len_max())
    }

    /// The longest part of a growing object: two fit into [`S3Limits::parts_memory`].
    ///
    /// With the default of 512 MiB that is 256 MiB: an announced object has 2.3 TiB at most, any other 1.4
    /// TiB.
    fn growing_part_len_max(&self) -> u64 {
        (self.parts_memory / 2 / MIB * MIB).clamp(PART_LEN_MIN, PART_LEN_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest source that is downloaded (`kinora_fetch::Limits::bytes_max`).
    const SOURCE_MAX: u64 = 1 << 40;

    #[test]
    fn part_length_grows_with_announced_length_within_memory() {
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
    fn part_length_is_never_below_the_s3_minimum() {
        let limits = S3Limits { part_len: 1, ..S3Limits::default() };
        assert_eq!(limits.part_len(None), PART_LEN_MIN);
    }

    #[test]
    fn request_timeout_grows_with_byte_count() {
        let limits = S3Limits::default();
        assert_eq!(limits.timeout_for(0), Duration::from_secs(15));
        assert_eq!(limits.timeout_for(8 * MIB), Duration::from_secs(47));
    }

    /// Fills parts up to `len` bytes; the length is known from the byte `known_from` on. Returns their
    /// lengths.
    fn growing_part_lens(limits: &S3Limits, len: u64, known_from: u64) -> Vec<u64> {
        let mut parts = Vec::new();
        let (mut start, mut previous_part_len) = (0, 0);
        while start < len {
            let announced = (known_from <= start).then_some(len);
            let part = limits.growing_part_len(parts.len() as u64, start, previous_part_len, announced);
            parts.push(part.min(len - start));
            (start, previous_part_len) = (start + part, part);
        }
        parts
    }

    #[test]
    fn five_tib_object_never_exceeds_the_part_limit() {
        const LONGEST: u64 = 5 << 40; // Amazon S3, "Amazon S3 multipart upload limits"
        let limits = S3Limits { parts_memory: 16 << 30, ..S3Limits::default() };
        let check = |len: u64, known_from: u64| {
            let parts = growing_part_lens(&limits, len, known_from);
            assert!(parts.len() as u64 <= PARTS_MAX, "{len} known from {known_from}: {} parts", parts.len());
            assert_eq!(parts.iter().sum::<u64>(), len);
            let (last, others) = parts.split_last().unwrap();
            assert!(others.iter().all(|part| (PART_LEN_MIN..=PART_LEN_MAX).contains(part)));
            assert!(others.is_sorted() && *last <= PART_LEN_MAX, "{len} known from {known_from}");
            parts
        };
        // Known from the start: all of one length, as far as an announcement is trusted.
        for len in [1, 8 * MIB, 80_000 * MIB, 80_001 * MIB, 123_456_789_012, PARTS_MAX * TRUSTED_PART_LEN] {
            let parts = check(len, 0);
            assert!(parts[1..].iter().rev().skip(1).all(|part| *part == parts[0]), "{len}");
        }
        for len in [1 << 40, LONGEST - 1, LONGEST] {
            assert_eq!(check(len, 0)[0], TRUSTED_PART_LEN);
        }
        // Never known, or late: a thousand of the default length, then longer ones.
        for known_from in [1, 8000 * MIB, 8001 * MIB, 1 << 40, LONGEST - MIB, LONGEST] {
            let parts = check(LONGEST, known_from);
            assert_eq!(parts[0], 8 * MIB);
        }
        let parts = check(LONGEST, LONGEST);
        assert_eq!(
            (parts[999], parts[1000], parts[2000], parts[9000]),
            (8 * MIB, 16 * MIB, 32 * MIB, 4 << 30)
        );
        // Known late: parts need not grow if they are long enough.
        assert_eq!(check(8001 * MIB, 1).iter().max(), Some(&(8 * MIB)));
    }

    #[test]
    fn two_parts_of_a_growing_object_fit_into_memory() {
        let limits = S3Limits::default();
        let longest = limits.growing_part_len(9999, 0, 0, None);
        assert_eq!(longest, 256 * MIB);
        assert!(2 * longest <= limits.parts_memory);
        assert!(growing_part_lens(&limits, SOURCE_MAX, SOURCE_MAX).len() as u64 <= PARTS_MAX);
        assert!(growing_part_lens(&limits, SOURCE_MAX, 0).len() as u64 <= PARTS_MAX);
        let tight = S3Limits { parts_memory: MIB, ..S3Limits::default() };
        assert_eq!(tight.growing_part_len(0, 0, 0, None), PART_LEN_MIN);
    }
}
