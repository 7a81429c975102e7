-- Documents under names: tools, recipes, teams.
CREATE TABLE resource_documents (
    project_id text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    card_id    uuid   NOT NULL,
    revision   bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    PRIMARY KEY (project_id, kind, name)
);
