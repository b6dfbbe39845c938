//! The worker pools of the runner: the queue of each, and its number of concurrent jobs.

use kinora_store::JobQueue;

/// A queue and the number of its concurrent jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkerPool {
    pub(crate) queue: JobQueue,
    pub(crate) concurrent_max: usize,
}

/// The worker pools of a process with `downloads_max` concurrent downloads: one for each queue.
pub(crate) const fn worker_pools(downloads_max: usize) -> [WorkerPool; 10] {
    [
        WorkerPool { queue: JobQueue::Download, concurrent_max: downloads_max },
        // Each has a subtitle file of at most 10 MiB in memory, and its parsed form; some wait minutes for
        // their source.
        WorkerPool { queue: JobQueue::Subtitles, concurrent_max: 16 },
        // Each may remux a file and encode its first segments; the engine queue sets the order.
        WorkerPool { queue: JobQueue::Ingest, concurrent_max: 8 },
        // Mostly one read of a row.
        WorkerPool { queue: JobQueue::UploadChecks, concurrent_max: 8 },
        // Few: each decodes once for all rungs, and the engine gives priority to all others.
        WorkerPool { queue: JobQueue::Backfill, concurrent_max: 2 },
        // Few for the same reason; they start when a media is ready, independent of backfills.
        WorkerPool { queue: JobQueue::Audio, concurrent_max: 2 },
        // Few for the same reason. They delay neither the audio of new media nor backfills.
        WorkerPool { queue: JobQueue::Loudness, concurrent_max: 2 },
        // There is only one such job.
        WorkerPool { queue: JobQueue::Renditions, concurrent_max: 1 },
        // Few: uploads of clients have priority.
        WorkerPool { queue: JobQueue::Reindex, concurrent_max: 2 },
        // All other jobs are short.
        WorkerPool { queue: JobQueue::Maintenance, concurrent_max: 4 },
    ]
}

#[cfg(test)]
mod tests {
    use kinora_store::JobKind;

    use super::*;
    use crate::fixture::{media_id, source_id, track_id};

    #[test]
    fn each_job_kind_has_one_worker_pool() {
        let check = |kind: JobKind, queue: JobQueue, concurrent_max: usize| {
            let of_kind = worker_pools(1024).into_iter().filter(|pool| pool.queue == kind.queue());
            assert_eq!(of_kind.collect::<Vec<_>>(), [WorkerPool { queue, concurrent_max }], "{kind:?}");
        };
        let (media, source, track) = (media_id(), source_id(1), track_id());
        check(JobKind::Download { media }, JobQueue::Download, 1024);
        check(JobKind::FetchAudio { media, track }, JobQueue::Download, 1024);
        check(JobKind::FetchSubtitles { media, track, source }, JobQueue::Subtitles, 16);
        check(JobKind::IngestUpload { media }, JobQueue::Ingest, 8);
        check(JobKind::Reindex { media, source }, JobQueue::Reindex, 2);
        check(JobKind::CheckUpload { media }, JobQueue::UploadChecks, 8);
        check(JobKind::Backfill { media, source }, JobQueue::Backfill, 2);
        check(JobKind::EncodeMp4 { media, source }, JobQueue::Backfill, 2);
        check(JobKind::EncodeAudio { media, source }, JobQueue::Audio, 2);
        check(JobKind::MeasureLoudness { media, source }, JobQueue::Loudness, 2);
        check(JobKind::RefreshMp4 { media, source }, JobQueue::Loudness, 2);
        check(JobKind::MaintainRenditions, JobQueue::Renditions, 1);
        check(JobKind::DiscardUpload { media }, JobQueue::Maintenance, 4);
        check(JobKind::DeleteObjects { source }, JobQueue::Maintenance, 4);
        check(JobKind::ProbeDecode { media, source }, JobQueue::Maintenance, 4);
        check(JobKind::BlurHash { media, source }, JobQueue::Maintenance, 4);
        check(JobKind::PrepareMp4 { media, source }, JobQueue::Maintenance, 4);
        check(JobKind::Sweep, JobQueue::Maintenance, 4);
    }

    #[test]
    fn downloads_max_limits_download_pool_only() {
        let [one, other] = [worker_pools(1), worker_pools(7)];
        assert_eq!((one[0].concurrent_max, other[0].concurrent_max), (1, 7));
        assert_eq!(one[1..], other[1..]);
    }
}
