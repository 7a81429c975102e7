-- Documents, one after the other: new ones (`was` is null), and new values for those at the revision they are expected
-- at.
CREATE OR REPLACE FUNCTION cw_put_resource(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*, (e.value ->> 'was')::bigint AS was
        FROM jsonb_array_elements(in_rows) WITH ORDINALITY AS e (value, place),
            jsonb_populate_record(NULL::resource_documents, e.value) AS r
        ORDER BY r.kind, r.name, e.place
    LOOP
        IF item.was IS NULL THEN
            INSERT INTO resource_documents (project_id, kind, name, card_id, revision, created_at, updated_at,
                deleted_at)
            VALUES (in_project, item.kind, item.name, item.card_id, item.revision, item.created_at, item.updated_at,
                item.deleted_at);
        ELSE
            UPDATE resource_documents
            SET card_id = item.card_id, revision = item.revision, created_at = item.created_at,
                updated_at = item.updated_at, deleted_at = item.deleted_at
            WHERE project_id = in_project AND kind = item.kind AND name = item.name AND revision = item.was;
            IF NOT FOUND THEN
                RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'roster';
            END IF;
        END IF;
    END LOOP;
    RETURN true;
END
$$;
