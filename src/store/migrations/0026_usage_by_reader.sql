-- Counted requests by key or agent. Rows of usage_days are of before: they are read beside these until their ninety days are over,
-- and processes of the version before still add to them. Same portable subset as 0001.
create table usage_by_reader (
  user_id uuid not null references users (id) on delete cascade,
  day integer not null,
  reader text not null,
  door text not null,
  operation text not null,
  result text not null,
  requests integer not null,
  primary key (user_id, day, reader, door, operation, result)
);

create index usage_by_reader_by_day on usage_by_reader (day);
