-- The event river: when each connection is synced, what earlier syncs have seen, webhook endpoints, events and their
-- deliveries. While a row is leased its due column holds the end of the lease, so that one index finds due rows and expired
-- leases. Same portable subset as 0001.

-- Rows for existing connections are created at the next start, with due times spread over an hour.
create table syncs (
  connection_id uuid not null primary key,
  user_id uuid not null,
  provider text not null,
  due_at timestamptz not null,
  reason text not null,
  run_id uuid,
  was_due_at timestamptz,
  requested_at timestamptz,
  requested_reason text,
  failures integer not null,
  rows_read_at timestamptz,
  ledger_from timestamptz,
  unique (connection_id, user_id),
  foreign key (connection_id, user_id) references connections (id, user_id) on delete cascade
);

create index syncs_due on syncs (due_at, connection_id);

create unique index syncs_of_run on syncs (run_id)
  where run_id is not null;

create index syncs_running on syncs (due_at)
  where run_id is not null;

create index syncs_of_user on syncs (user_id);

create table sync_runs (
  id uuid not null primary key,
  connection_id uuid not null,
  user_id uuid not null,
  reason text not null,
  state text not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  new_count integer not null,
  updated_count integer not null,
  chunks integer not null,
  failure_code text,
  failure_message text,
  foreign key (connection_id, user_id) references syncs (connection_id, user_id) on delete cascade
);

create index sync_runs_of_connection on sync_runs (connection_id, started_at, id);

create unique index sync_runs_running on sync_runs (connection_id)
  where state = 'running';

create index sync_runs_ended on sync_runs (started_at)
  where state <> 'running';

create table ledger_keys (
  user_id uuid not null primary key references users (id) on delete cascade,
  secret bytea not null,
  secret_key text not null
);

create index ledger_keys_by_secret_key on ledger_keys (secret_key, user_id);

create table ledger_months (
  account_id uuid not null references accounts (id) on delete cascade,
  month integer not null,
  entries bytea not null,
  primary key (account_id, month)
);

create table webhook_endpoints (
  id uuid not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  url text not null,
  events text not null,
  skip_empty boolean not null,
  health text not null,
  failures integer not null,
  failing_since timestamptz,
  warned_days integer not null,
  disabled_reason text,
  created_at timestamptz not null,
  secret bytea not null,
  previous_secret bytea,
  previous_until timestamptz,
  secret_key text not null,
  lease uuid,
  next_due_at timestamptz,
  not_before timestamptz,
  last_position integer not null,
  unique (id, user_id)
);

create index webhook_endpoints_of_user on webhook_endpoints (user_id, created_at, id);

create index webhook_endpoints_by_secret_key on webhook_endpoints (secret_key, id);

create unique index webhook_endpoints_of_lease on webhook_endpoints (lease)
  where lease is not null;

create index webhook_endpoints_due_healthy on webhook_endpoints (next_due_at, id)
  where health = 'healthy';

create index webhook_endpoints_due_ailing on webhook_endpoints (next_due_at, id)
  where health in ('degraded', 'paused');

-- No foreign key to connections or runs: a removed connection does not take accepted events along.
create table events (
  id uuid not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  connection_id uuid,
  run_id uuid,
  type text not null,
  chunk integer not null,
  total_chunks integer not null,
  is_empty boolean not null,
  created_at timestamptz not null,
  size integer not null,
  body_mac bytea not null,
  shredding boolean not null,
  shredded_at timestamptz,
  payload bytea,
  unique (id, user_id)
);

create index events_of_user on events (user_id, created_at, chunk, id);

create index events_sealed on events (created_at, id)
  where shredded_at is null;

create index events_shredded on events (created_at)
  where shredded_at is not null;

create table deliveries (
  id uuid not null primary key,
  event_id uuid not null,
  endpoint_id uuid not null,
  user_id uuid not null,
  lane uuid not null,
  position integer not null,
  status text not null,
  due_at timestamptz,
  attempts integer not null,
  is_replay boolean not null,
  is_test boolean not null,
  created_at timestamptz not null,
  unique (endpoint_id, position),
  foreign key (event_id, user_id) references events (id, user_id) on delete cascade,
  foreign key (endpoint_id, user_id) references webhook_endpoints (id, user_id) on delete cascade
);

create index deliveries_of_event on deliveries (event_id, user_id);

-- Of each lane only the first pending delivery has a due time: these two hold one row a lane.
create index deliveries_due on deliveries (endpoint_id, is_test, due_at)
  where status = 'pending' and due_at is not null;

create index deliveries_first on deliveries (endpoint_id, position)
  where status = 'pending' and due_at is not null;

create index deliveries_of_lane on deliveries (endpoint_id, lane, position)
  where status = 'pending';

create table attempts (
  delivery_id uuid not null references deliveries (id) on delete cascade,
  number integer not null,
  at timestamptz not null,
  status integer,
  failure text,
  duration_ms integer not null,
  response bytea,
  primary key (delivery_id, number)
);
