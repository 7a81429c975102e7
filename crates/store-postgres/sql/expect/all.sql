-- What a commit relies on beyond boxes, and the locks that keep it so: first the project's row, then the chain.
CREATE OR REPLACE FUNCTION cw_expect(in_project text, in_rest jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    done boolean;
BEGIN
    IF in_rest ? 'project_at' THEN
        done := cw_project_at(in_project, in_rest -> 'project_at', in_rest ?| ARRAY['update_project', 'delete_card']);
    END IF;
    IF in_rest ? 'open_turns' THEN
        done := cw_open_turns(in_project, in_rest -> 'open_turns');
    END IF;
    IF in_rest ? 'create_project' THEN
        done := cw_create_project(in_project, in_rest -> 'create_project');
    END IF;
    IF in_rest ? 'update_project' THEN
        done := cw_update_project(in_project, in_rest -> 'update_project');
    END IF;
    IF in_rest ? 'delete_card' THEN
        done := cw_count_deletion(in_project, jsonb_array_length(in_rest -> 'delete_card'));
    END IF;
    IF in_rest ? 'chain_at' THEN
        done := cw_chain_at(in_project, in_rest -> 'chain_at');
    END IF;
    RETURN true;
END
$$;
