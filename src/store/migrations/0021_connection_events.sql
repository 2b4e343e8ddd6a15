-- Events about connections (reading R41): each change that an endpoint names waits here, from the transaction of the change to
-- that of its event. It outlives its connection. Same portable subset as 0001.
create table connection_events (
  id uuid not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  position integer not null,
  type text not null,
  connection_id uuid not null,
  provider text not null,
  institution_id text not null,
  institution_name text not null,
  institution_logo text,
  status text not null,
  last_refreshed_at timestamptz,
  linked_at timestamptz not null,
  expires_at timestamptz,
  created_at timestamptz not null,
  unique (user_id, position)
);

-- The end of the consent that was announced last, and how many days before.
alter table connections add column told_expires_at timestamptz;

alter table connections add column told_days integer;
