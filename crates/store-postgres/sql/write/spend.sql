-- More turns below roots: each once, sorted by the caller; few, so one by one. A root that is not there has none yet.
CREATE OR REPLACE FUNCTION cw_spend(in_project text, in_spends cw_spending[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item cw_spending;
BEGIN
    FOREACH item IN ARRAY in_spends LOOP
        INSERT INTO state_pmo_trees AS t (project_id, root_agent_turn_id, turns)
        SELECT in_project, item.root_agent_turn_id, item.turns
        WHERE item.most >= 0
        ON CONFLICT (project_id, root_agent_turn_id) DO UPDATE
        SET turns = t.turns + excluded.turns
        WHERE t.turns <= item.most;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'tree';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
