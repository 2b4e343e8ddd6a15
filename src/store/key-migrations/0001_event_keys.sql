-- The keys of events' payloads, stored separately so that a backup of the store does not contain them: in their own schema
-- on PostgreSQL, in their own file on SQLite. Same portable subset as ../migrations.

create table event_keys (
  event_id uuid not null primary key,
  secret bytea not null,
  secret_key text not null,
  created_at timestamptz not null
);

create index event_keys_by_secret_key on event_keys (secret_key, event_id);

create index event_keys_by_age on event_keys (created_at, event_id);
