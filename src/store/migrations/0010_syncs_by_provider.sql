-- Due syncs of some providers, when others have as many runs as they may. Same portable subset as 0001.

create index syncs_due_of_provider on syncs (provider, due_at, connection_id);
