-- What webhooks of the providers need: logins by the person at the provider, and how old a connection's status is, so that a
-- status that arrives late changes nothing. Same portable subset as 0001.

create index logins_by_upstream on logins (provider, upstream_user_id, id);

alter table connections add column status_at timestamptz;
