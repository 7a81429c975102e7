-- The writes that are not on the hot path, each kind by its own function. A later stage of a commit (one that writes
-- a row again) also carries its appends here.
CREATE OR REPLACE FUNCTION cw_rest(in_project text, in_rest jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    done boolean;
BEGIN
    IF in_rest ? 'append' THEN
        done := cw_append_cards(
            in_project, ARRAY(SELECT r FROM jsonb_populate_recordset(NULL::cw_append, in_rest -> 'append') r));
    END IF;
    IF in_rest ? 'delete_card' THEN
        done := cw_delete_card(in_project, in_rest -> 'delete_card');
    END IF;
    IF in_rest ? 'create_box' THEN
        done := cw_create_box(in_project, in_rest -> 'create_box');
    END IF;
    IF in_rest ? 'rewrite_box' THEN
        done := cw_rewrite_box(in_project, in_rest -> 'rewrite_box');
    END IF;
    IF in_rest ? 'seal_box' THEN
        done := cw_seal_box(in_project, in_rest -> 'seal_box');
    END IF;
    IF in_rest ? 'open_call' THEN
        done := cw_open_call(in_project, in_rest -> 'open_call');
    END IF;
    IF in_rest ? 'update_call' THEN
        done := cw_update_call(in_project, in_rest -> 'update_call');
    END IF;
    IF in_rest ? 'put_profile' THEN
        done := cw_put_profile(in_project, in_rest -> 'put_profile');
    END IF;
    IF in_rest ? 'put_resource' THEN
        done := cw_put_resource(in_project, in_rest -> 'put_resource');
    END IF;
    IF in_rest ? 'put_agent' THEN
        done := cw_put_agent(in_project, in_rest -> 'put_agent');
    END IF;
    IF in_rest ? 'create_token' THEN
        done := cw_create_token(in_project, in_rest -> 'create_token');
    END IF;
    IF in_rest ? 'revoke_token' THEN
        done := cw_revoke_token(in_project, in_rest -> 'revoke_token');
    END IF;
    IF in_rest ? 'remember_answer' THEN
        done := cw_remember_answer(in_project, in_rest -> 'remember_answer');
    END IF;
    RETURN true;
END
$$;
