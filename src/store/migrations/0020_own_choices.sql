-- What people choose for themselves: a name of their own for a connection, and balances that a page shows at once. Same portable
-- subset as 0001.
alter table connections add column label text;

alter table users add column show_balances boolean not null default false;
