-- When an endpoint was served last while it has more to send: endpoints with much to send take turns, in the order of this
-- time, with those that have become due. Null while it is leased, and when nothing that was due is left.

alter table webhook_endpoints add column served_at timestamptz;

drop index webhook_endpoints_due_healthy;

drop index webhook_endpoints_due_ailing;

create index webhook_endpoints_due_healthy on webhook_endpoints (next_due_at, id)
  where health = 'healthy' and served_at is null;

create index webhook_endpoints_due_ailing on webhook_endpoints (next_due_at, id)
  where health in ('degraded', 'paused') and served_at is null;

create index webhook_endpoints_served_healthy on webhook_endpoints (served_at, id)
  where health = 'healthy' and served_at is not null;

create index webhook_endpoints_served_ailing on webhook_endpoints (served_at, id)
  where health in ('degraded', 'paused') and served_at is not null;
