-- A login that this installation made at its provider ends there with its last connection; one that was adopted stays. Same
-- portable subset as 0001.

alter table logins add column is_ours boolean not null default false;

-- Users at SnapTrade that were registered here are called so, and no others.
update logins set is_ours = true
  where provider = 'snaptrade' and upstream_user_id like 'tributary-%';

-- Until then, accounts that arrive later after a renewal are recognised by their numbers.
alter table connections add column renewed_until timestamptz;
