-- URLs of webhook endpoints are sealed like their secrets, since they often hold a token of the receiver. Those that are there
-- are sealed by `seal-urls.ts` in the same transaction, which then drops the column `url`. Same portable subset as 0001.

alter table webhook_endpoints add column sealed_url bytea;
