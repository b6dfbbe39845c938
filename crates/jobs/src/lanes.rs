//! The lanes of the runner: which queue each claims jobs from, and how many of them run at once.

use kinora_store::JobQueue;

/// A queue and how many of its jobs run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) queue: JobQueue,
    pub(crate) concurrent_max: usize,
}

/// Every lane of a process that runs `downloads_max` downloads at once: one for each queue.
pub(crate) const fn lanes(downloads_max: usize) -> [Lane; 9] {
    [
        Lane { queue: JobQueue::Download, concurrent_max: downloads_max },
        // Each holds a file of subtitles in memory, of 10 MiB at most, and what it reads as; some wait for
        // their source for minutes.
        Lane { queue: JobQueue::Tracks, concurrent_max: 16 },
        // Each may repack a file and begin its renditions; the engine says who goes first.
        Lane { queue: JobQueue::Ingest, concurrent_max: 8 },
        // Mostly one read of a row.
        Lane { queue: JobQueue::Uploads, concurrent_max: 8 },
        // Few: each decodes once for all rungs, and the engine lets everything else go first.
        Lane { queue: JobQueue::Fill, concurrent_max: 2 },
        // As few; they begin when a media is ready, whatever is filled meanwhile.
        Lane { queue: JobQueue::Sound, concurrent_max: 2 },
        // There is one such job in all.
        Lane { queue: JobQueue::Tend, concurrent_max: 1 },
        // Few: clients that upload meanwhile go first.
        Lane { queue: JobQueue::Reindex, concurrent_max: 2 },
        // All else is short.
        Lane { queue: JobQueue::Upkeep, concurrent_max: 4 },
    ]
}

#[cfg(test)]
mod tests {
    use kinora_store::JobKind;

    use super::*;
    use crate::fixture::{media_id, source_id, track_id};

    #[test]
    fn each_kind_of_job_runs_in_one_lane_with_its_limit() {
        let check = |kind: JobKind, queue: JobQueue, concurrent_max: usize| {
            let of_kind = lanes(1024).into_iter().filter(|lane| lane.queue == kind.queue());
            assert_eq!(of_kind.collect::<Vec<_>>(), [Lane { queue, concurrent_max }], "{kind:?}");
        };
        let (media, source, track) = (media_id(), source_id(1), track_id());
        check(JobKind::Download { media }, JobQueue::Download, 1024);
        check(JobKind::FetchSound { media, track }, JobQueue::Download, 1024);
        check(JobKind::FetchTrack { media, track, source }, JobQueue::Tracks, 16);
        check(JobKind::IngestUpload { media }, JobQueue::Ingest, 8);
        check(JobKind::Reindex { media, source }, JobQueue::Reindex, 2);
        check(JobKind::TendUpload { media }, JobQueue::Uploads, 8);
        check(JobKind::Fill { media, source }, JobQueue::Fill, 2);
        check(JobKind::EncodeFiles { media, source }, JobQueue::Fill, 2);
        check(JobKind::EncodeAudio { media, source }, JobQueue::Sound, 2);
        check(JobKind::TendRenditions, JobQueue::Tend, 1);
        check(JobKind::DiscardUpload { media }, JobQueue::Upkeep, 4);
        check(JobKind::DeleteObjects { source }, JobQueue::Upkeep, 4);
        check(JobKind::ProbeDecode { media, source }, JobQueue::Upkeep, 4);
        check(JobKind::HashPicture { media, source }, JobQueue::Upkeep, 4);
        check(JobKind::PrepareFiles { media, source }, JobQueue::Upkeep, 4);
        check(JobKind::Sweep, JobQueue::Upkeep, 4);
    }

    #[test]
    fn downloads_max_limits_the_download_lane_alone() {
        let [one, other] = [lanes(1), lanes(7)];
        assert_eq!((one[0].concurrent_max, other[0].concurrent_max), (1, 7));
        assert_eq!(one[1..], other[1..]);
    }
}
