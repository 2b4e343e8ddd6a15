-- What the authorization server remembers: grants of people to agents, and everything that lives by a grant or waits for
-- one. Ids are SHA-256 of what the other side holds, payloads are sealed. Same portable subset as 0001.

create table oauth_grants (
  id bytea not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  client_id text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  payload bytea not null,
  payload_key text not null
);

create index oauth_grants_of_user on oauth_grants (user_id, client_id, created_at);

create index oauth_grants_by_expiry on oauth_grants (expires_at);

create index oauth_grants_by_payload_key on oauth_grants (payload_key, id);

-- A token cannot outlive its grant, nor be made for one that is gone, whatever two processes do at once.
create table oauth_rows (
  id bytea not null primary key,
  model text not null,
  grant_id bytea references oauth_grants (id) on delete cascade,
  origin bytea,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  payload bytea not null,
  payload_key text not null
);

create index oauth_rows_of_grant on oauth_rows (grant_id, model);

create index oauth_rows_by_expiry on oauth_rows (expires_at);

create index oauth_rows_by_payload_key on oauth_rows (payload_key, id);

create index oauth_rows_of_origin on oauth_rows (origin, created_at)
  where origin is not null;
