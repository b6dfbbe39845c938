-- Older access tokens have neither. made_by is JSON, as audit.actor: the person may be gone.
ALTER TABLE access_token ADD COLUMN name TEXT;
ALTER TABLE access_token ADD COLUMN made_by TEXT;

-- Filters of the audit log compare these: the ID of the actor, or its kind if it has none, and the ID of the
-- object.
ALTER TABLE audit ADD COLUMN actor_key TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN object_id TEXT NOT NULL DEFAULT '';

UPDATE audit SET
    actor_key = coalesce(json_extract(actor, '$.id'), json_extract(actor, '$.kind'), ''),
    object_id = coalesce(json_extract(object, '$.id'), '');

-- Each page is read in the order of one of these.
DROP INDEX audit_at;
CREATE INDEX audit_page ON audit (at, sequence);
CREATE INDEX audit_action ON audit (action, at, sequence);
CREATE INDEX audit_actor ON audit (actor_key, at, sequence);
CREATE INDEX audit_object ON audit (object_id, at, sequence);

-- The deletion of a workspace looks for what references it.
CREATE INDEX event_workspace ON event (workspace_id, sequence);
CREATE INDEX upload_workspace ON upload (workspace_id);
