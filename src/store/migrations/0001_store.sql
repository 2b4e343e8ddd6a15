-- Who uses the house, their keys, and their links to institutions. Portable subset: SQLite takes the type names as
-- labels (its codec reads them), PostgreSQL takes them at their word. Statements end with a semicolon at a line's end.

create table meta (
  name text not null primary key,
  value text not null
);

create table users (
  id uuid not null primary key,
  email text not null,
  email_lower text not null unique,
  timezone text,
  plan text,
  plan_status text not null,
  legacy_until timestamptz,
  grandfathered boolean not null,
  epoch integer not null,
  created_at timestamptz not null
);

create table api_keys (
  id uuid not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  name text not null,
  prefix text not null,
  hash bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);

create index api_keys_of_user on api_keys (user_id, created_at);

create table logins (
  id uuid not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  provider text not null,
  upstream_user_id text not null,
  secret bytea,
  secret_key text,
  unique (user_id, provider, upstream_user_id),
  unique (id, user_id)
);

create index logins_by_secret_key on logins (secret_key, id);

-- The pairs (id, user_id) make a link between two people's rows impossible, whatever the code above may do.
create table connections (
  id uuid not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  login_id uuid not null,
  provider text not null,
  upstream_id text not null,
  institution_id text not null,
  institution_name text not null,
  institution_logo text,
  status text not null,
  last_refreshed_at timestamptz,
  created_at timestamptz not null,
  unique (id, user_id),
  foreign key (login_id, user_id) references logins (id, user_id) on delete cascade
);

-- A connection that is being deleted does not stand in the way of a new link to the same place.
create unique index connections_by_upstream on connections (user_id, provider, upstream_id)
  where status <> 'deleting';

create index connections_of_user on connections (user_id, created_at);

create index connections_of_login on connections (login_id, user_id);

create table accounts (
  id uuid not null primary key,
  connection_id uuid not null,
  user_id uuid not null,
  upstream_id text not null,
  name text not null,
  type text not null,
  account_number text,
  currency text not null,
  hidden boolean not null,
  unique (connection_id, upstream_id),
  foreign key (connection_id, user_id) references connections (id, user_id) on delete cascade
);

create index accounts_of_user on accounts (user_id);

-- No foreign key: the record of a deletion outlives the user whom it deleted.
create table audit (
  id uuid not null primary key,
  at timestamptz not null,
  actor text not null,
  action text not null,
  user_id uuid,
  subject text not null
);

create index audit_by_time on audit (at);

create index audit_of_user on audit (user_id, at);
