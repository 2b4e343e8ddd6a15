-- Narrow keys: what they may see, and from where. Ids, scopes and addresses have commas between them; null: no limit of this kind.
-- `api_keys.hash` of a narrow key is a hash of its hash, so that code which knows no limits finds no caller by it. After a
-- rotation former secrets stay good for a while: their hashes are in a table of their own. Same portable subset as 0001.
alter table api_keys add column scopes text;

alter table api_keys add column connection_ids text;

alter table api_keys add column account_ids text;

alter table api_keys add column addresses text;

alter table api_keys add column former_until timestamptz;

create table former_key_hashes (
  hash bytea not null primary key,
  key_id uuid not null references api_keys (id) on delete cascade,
  replaced_at timestamptz not null,
  valid_until timestamptz not null
);

create index former_key_hashes_of_key on former_key_hashes (key_id, replaced_at);
