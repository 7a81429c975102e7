-- A document.
SELECT d FROM resource_documents d WHERE d.project_id = {tenant} AND d.kind = {kind} AND d.name = {name}
