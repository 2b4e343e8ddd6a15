-- Passkeys (WebAuthn): public keys that a person signs in with, and the challenges that were used, so that an answer is accepted
-- once. Same portable subset as 0001.
create table passkeys (
  id uuid not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  credential_id bytea not null unique,
  public_key bytea not null,
  name text not null,
  sign_count bigint not null,
  transports text not null,
  created_at timestamptz not null,
  last_used_at timestamptz
);

create index passkeys_of_user on passkeys (user_id, created_at);

create table used_challenges (
  hash bytea not null primary key,
  user_id uuid not null references users (id) on delete cascade,
  expires_at timestamptz not null
);

create index used_challenges_by_expiry on used_challenges (expires_at);

create index used_challenges_of_user on used_challenges (user_id);
