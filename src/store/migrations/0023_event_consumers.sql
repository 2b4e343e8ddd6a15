-- Events that are fetched (reading R42): one sequence of events for each user who has consumers, and how far each consumer has
-- acknowledged it. A user's row is locked whenever events are accepted, so positions become visible in their order. Same portable
-- subset as 0001.

create table event_feeds (
  user_id uuid not null primary key references users (id) on delete cascade,
  id uuid not null,
  last_position integer not null
);

create table event_consumers (
  id uuid not null primary key,
  user_id uuid not null references event_feeds (user_id) on delete cascade,
  name text not null,
  acknowledged integer not null,
  created_at timestamptz not null,
  asked_at timestamptz not null,
  unique (user_id, name)
);

-- Null: a test event, or its user had no feed.
alter table events add column position integer;

create index events_of_feed on events (user_id, position)
  where position is not null;
