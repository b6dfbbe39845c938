-- What the bytes of a source are packed in, and why players do not get a track as it is. Media made before this were all copied.
ALTER TABLE media ADD COLUMN container TEXT COLLATE "C" CHECK (container IS NULL OR state = 'Ready');
-- Names of encoded pictures, largest first, with a space between.
ALTER TABLE media ADD COLUMN rungs TEXT COLLATE "C" CHECK (rungs IS NULL OR state = 'Ready');
ALTER TABLE track ADD COLUMN not_copied_reason TEXT COLLATE "C";
ALTER TABLE track ADD COLUMN not_copied_detail TEXT COLLATE "C"
    CHECK ((not_copied_reason IS NULL) = (not_copied_detail IS NULL));
