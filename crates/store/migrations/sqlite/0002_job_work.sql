-- Whether the same work is still to be done. Payloads are a few ids.
CREATE INDEX job_work ON job (queue, kind, payload) WHERE state = 'pending';
