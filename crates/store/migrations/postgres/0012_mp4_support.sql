-- Which files are offered beside playback, as clients say it.
ALTER TABLE media ADD COLUMN mp4_support TEXT COLLATE "C" NOT NULL DEFAULT 'none';
ALTER TABLE upload ADD COLUMN mp4_support TEXT COLLATE "C" NOT NULL DEFAULT 'none';
