-- Two indexes that begin with the webhook are enough, and a third one is taken for them while the table is new. The second
-- condition keeps what does not name it from this index.
DROP INDEX delivery_pending_since;
CREATE INDEX delivery_pending_old ON delivery (created_at) WHERE state = 'pending' AND created_at > 0;
