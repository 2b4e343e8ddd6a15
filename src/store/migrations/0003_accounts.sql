-- People who sign in: a password's hash beside the user, and the browsers in which they are signed in. A session is
-- kept by the hash of its cookie; the cookie itself is never stored.

alter table users add column password_hash text;

alter table users add column name text;

create table sessions (
  id uuid not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  hash bytea not null unique,
  created_at timestamptz not null,
  signed_in_at timestamptz not null,
  last_seen_at timestamptz not null
);

create index sessions_of_user on sessions (user_id, created_at);

create index sessions_by_last_seen on sessions (last_seen_at);
