-- What is counted, swept and read page by page, each by a range of its own index: requests that wait for a person, refused
-- sign-ins, users by age; and whether anybody ever let an agent in. Same portable subset as 0001.

create index oauth_requests_of_origin on oauth_rows (origin, expires_at)
  where model = 'Interaction';

create index oauth_requests_by_expiry on oauth_rows (expires_at)
  where model = 'Interaction';

create index oauth_grants_of_client on oauth_grants (client_id);

create index audit_refused_by_time on audit (at)
  where action = 'account.sign-in-refused';

create index audit_refused_of_user on audit (user_id, at)
  where action = 'account.sign-in-refused';

create index users_by_age on users (created_at, id);
