-- Calls to providers that limit a day: a restart must not begin their count anew. Same portable subset as 0001.
create table provider_calls (
  id uuid primary key,
  name text not null,
  at timestamptz not null
);

create index provider_calls_of_name on provider_calls (name, at);
create index provider_calls_by_time on provider_calls (at);
