-- What the dashboard needs: links that a person began at a provider, second factors, single-use links that are mailed, mails
-- that wait to be sent, and counted requests. Same portable subset as 0001.

-- A link that was begun in a browser, by the SHA-256 of its state. It is used once; a used one stays until it expires, so that
-- a repeated return is recognised. It has ended when its consent was read, or when there is none.
create table link_attempts (
  id bytea not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  session_id uuid not null,
  provider text not null,
  login_id uuid,
  institution_id text,
  connection_id uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  ended_at timestamptz
);

create index link_attempts_of_user on link_attempts (user_id, created_at);

create index link_attempts_by_expiry on link_attempts (expires_at);

create index link_attempts_of_login on link_attempts (login_id, expires_at)
  where login_id is not null;

alter table connections add column consent_expires_at timestamptz;

-- The consent was renewed, and its accounts were not listed since: their ids at the provider may be new.
alter table connections add column is_renewed boolean not null default false;

create index connections_by_consent_expiry on connections (consent_expires_at, id)
  where consent_expires_at is not null;

alter table users add column email_confirmed_at timestamptz;

-- Whom an operator made counts as confirmed.
update users set email_confirmed_at = created_at
  where exists (select 1 from audit where audit.user_id = users.id and audit.action = 'users.create');

alter table sessions add column address text;

alter table sessions add column agent text;

alter table audit add column address text;

-- A row means that a code is asked for at every sign-in. `last_step`: no code is accepted twice.
create table second_factors (
  user_id uuid not null primary key references users (id) on delete cascade,
  secret bytea not null,
  secret_key text not null,
  created_at timestamptz not null,
  last_step integer not null
);

create index second_factors_by_secret_key on second_factors (secret_key, user_id);

create table recovery_codes (
  user_id uuid not null references users (id) on delete cascade,
  hash bytea not null,
  used_at timestamptz,
  primary key (user_id, hash)
);

-- Links that are valid once, by the SHA-256 of their token. An invitation has no user yet.
create table mailed_links (
  id bytea not null primary key,
  kind text not null,
  user_id uuid references users (id) on delete cascade,
  email text not null,
  email_lower text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  replaced_at timestamptz
);

create index mailed_links_of_user on mailed_links (user_id);

create index mailed_links_of_email on mailed_links (email_lower, kind, created_at);

create index mailed_links_by_expiry on mailed_links (expires_at);

-- `key` names what a mail is about, so that it is sent once however often it is asked for.
create table mails (
  id uuid not null primary key,
  user_id uuid references users (id) on delete cascade,
  key text not null unique,
  kind text not null,
  created_at timestamptz not null,
  due_at timestamptz,
  attempts integer not null,
  payload bytea,
  payload_key text
);

create index mails_of_user on mails (user_id, created_at);

create index mails_due on mails (due_at, id)
  where due_at is not null;

create index mails_by_age on mails (created_at);

create index mails_by_payload_key on mails (payload_key, id);

alter table oauth_grants add column last_used_at timestamptz;

-- `day` is the day of the request in the person's zone, counted from 1970-01-01.
create table usage_days (
  user_id uuid not null references users (id) on delete cascade,
  day integer not null,
  door text not null,
  operation text not null,
  result text not null,
  requests integer not null,
  primary key (user_id, day, door, operation, result)
);

create index usage_days_by_day on usage_days (day);
