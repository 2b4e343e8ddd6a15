-- What was asked for when a connection was removed: whether the consent behind a person's own key ends at the provider too. A
-- removal may have to wait for the provider, so it is kept with the row. Same portable subset as 0001.

alter table connections add column ends_at_provider boolean not null default false;
