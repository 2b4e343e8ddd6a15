-- Programs that read SimpleFIN. A setup token is exchanged once for credentials; both are stored as hashes. Same portable subset
-- as 0001.
create table programs (
  id uuid not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  name text not null,
  connections text,
  setup_hash bytea not null unique,
  setup_until timestamptz not null,
  access_hash bytea unique,
  created_at timestamptz not null,
  claimed_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  repeated_at timestamptz
);

create index programs_of_user on programs (user_id, created_at);
