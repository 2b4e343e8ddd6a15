-- Requests that wait for a person, counted by network: by this index alone, without their rows. Same portable subset as 0001.

create index oauth_requests_of_network on oauth_rows (substr(origin, 1, 16), expires_at)
  where model = 'Interaction';
