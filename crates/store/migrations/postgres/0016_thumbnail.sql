-- The moment whose picture stands for a media, in milliseconds since its start; without one a picture near its middle does.
ALTER TABLE media ADD COLUMN thumbnail_ms BIGINT CHECK (thumbnail_ms >= 0);
