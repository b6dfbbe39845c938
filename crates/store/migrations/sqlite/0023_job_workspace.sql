-- Whose work a job is: places are shared out by workspace. Empty: the server's own.
ALTER TABLE job ADD COLUMN workspace_id TEXT NOT NULL DEFAULT '';
-- Payloads of jobs for a media or an upload begin with its id.
UPDATE job SET workspace_id = coalesce(
        (SELECT m.workspace_id FROM media m WHERE m.id = substr(job.payload, 11, 36)),
        (SELECT u.workspace_id FROM upload u WHERE u.id = substr(job.payload, 11, 36)),
        '')
    WHERE state = 'pending' AND substr(payload, 1, 10) = '{"media":"';
-- What an earlier run left to go on with, as JSON.
ALTER TABLE job ADD COLUMN progress TEXT;
DROP INDEX job_due;
CREATE INDEX job_due ON job (queue, workspace_id, priority, run_at, id) WHERE state = 'pending';
