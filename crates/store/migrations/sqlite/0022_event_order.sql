-- When the last event of a media happened: what happens next is told to be later. What came before this column is as old as can be.
ALTER TABLE media ADD COLUMN told_at INTEGER NOT NULL DEFAULT 0;
