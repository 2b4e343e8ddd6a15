-- A login that nothing uses is marked before it ends at its provider, so that no process begins a link with it meanwhile. Same
-- portable subset as 0001.

alter table logins add column is_ending boolean not null default false;
