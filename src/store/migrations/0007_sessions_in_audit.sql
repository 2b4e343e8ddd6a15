-- Entries of sessions that began and ended are swept by age and by user, each by a range of its own index. Same portable
-- subset as 0001.

create index audit_sessions_by_time on audit (at)
  where action in ('account.signed-in', 'account.signed-out');

create index audit_sessions_of_user on audit (user_id, at)
  where action in ('account.signed-in', 'account.signed-out');
