-- What the background work looks for, each by a range of its own index: connections that wait for their provider to end
-- a consent, and sessions by their age as well as by their last visit. Same portable subset as 0001.

create index connections_deleting on connections (id)
  where status = 'deleting';

create index sessions_by_age on sessions (created_at);
