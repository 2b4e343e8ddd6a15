-- A user who is being deleted, so that no process gives them anything more; and a version of each login, which grows
-- whenever its credentials are saved, so that a loss found with older ones changes nothing. Same portable subset as 0001.

alter table users add column deleting_at timestamptz;

create index users_deleting on users (deleting_at, id)
  where deleting_at is not null;

alter table logins add column version integer not null default 1;

-- These providers tell when they refreshed a link. The moment of linking stood there where they had told nothing.
update connections set last_refreshed_at = null
  where provider in ('akahu', 'snaptrade') and last_refreshed_at = created_at;
