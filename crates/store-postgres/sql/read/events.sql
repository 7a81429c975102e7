-- Groups come in the order of the one index that has them, and each is gone through from its beginning. To sort by the
-- place as well would put all that comes after the position in order for one page of it.
SELECT e.last_position - e.item_count + i.place AS position, i.event_id, i.kind, i.target, i.channel, i.agent_id,
    i.data, i.at, i.agent_turn_id, i.batch_id, i.trace_id
FROM events e
CROSS JOIN LATERAL unnest(e.items) WITH ORDINALITY AS i (
    event_id, kind, target, channel, agent_id, data, at, agent_turn_id, batch_id, trace_id, place)
WHERE e.project_id = $1 AND e.last_position > $2 AND e.last_position - e.item_count + i.place > $2
    AND ($4::uuid IS NULL OR i.agent_turn_id = $4) AND ($5::uuid IS NULL OR i.batch_id = $5)
    AND ($6::text IS NULL OR i.trace_id = $6) AND ($7::text IS NULL OR i.agent_id = $7)
ORDER BY e.last_position
LIMIT $3
