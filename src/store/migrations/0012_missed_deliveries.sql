-- A disabled endpoint may have very many pending deliveries: up to this position they are missed, whatever their rows say,
-- and these follow in batches. Null: they have followed.

alter table webhook_endpoints add column missed_to integer;

create index webhook_endpoints_missing on webhook_endpoints (id)
  where missed_to is not null;
