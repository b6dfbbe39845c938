-- Lists of media. A manual one has items; a smart one has the dates that its media are chosen by.
CREATE TABLE playlist (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
    name TEXT COLLATE "C" NOT NULL,
    reference_id TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('manual', 'smart')),
    -- Most media in it.
    item_max BIGINT NOT NULL CHECK (item_max > 0),
    play_order TEXT COLLATE "C" CHECK (play_order IN ('createdDate ASC', 'createdDate DESC')),
    -- Days, `2025-11-03`, both ends included; without one there is no end on that side.
    created_first TEXT COLLATE "C",
    created_last TEXT COLLATE "C",
    updated_first TEXT COLLATE "C",
    updated_last TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 0),
    UNIQUE (workspace_id, reference_id),
    CHECK ((kind = 'smart') = (play_order IS NOT NULL))
);

CREATE INDEX playlist_page ON playlist (workspace_id, created_at, id);

CREATE TABLE playlist_item (
    playlist_id TEXT COLLATE "C" NOT NULL REFERENCES playlist (id) ON DELETE CASCADE,
    -- What is deleted leaves every playlist with its row.
    media_id TEXT COLLATE "C" NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    -- Rises along the list, with gaps.
    position BIGINT NOT NULL,
    UNIQUE (playlist_id, media_id)
);

CREATE INDEX playlist_item_media ON playlist_item (media_id);

-- Counting rows whenever a list is asked for, or one more is made, would take longer with each.
ALTER TABLE workspace ADD COLUMN playlist_count BIGINT NOT NULL DEFAULT 0 CHECK (playlist_count >= 0);

-- What smart playlists choose from.
CREATE INDEX media_ready_created ON media (workspace_id, created_at, id) WHERE state = 'Ready';
CREATE INDEX media_ready_updated ON media (workspace_id, updated_at, created_at, id) WHERE state = 'Ready';
