-- Pending rows in events (reading R39): endpoints that ask for them, the events that have them, and by account the keyed ids of
-- those that an event announced and none took back. Same portable subset as 0001.
alter table webhook_endpoints add column pending boolean not null default false;

-- Null: it is sent to every endpoint that takes its type.
alter table events add column has_pending boolean;

create table pending_ledgers (
  account_id uuid not null primary key references accounts (id) on delete cascade,
  ids text not null
);
