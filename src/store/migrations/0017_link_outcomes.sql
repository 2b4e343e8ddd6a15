-- How far a link that was begun in a browser has come, so that its page can say it whenever it is read, in any process. Null:
-- its return is being read, or a version wrote the row that knew no outcomes. Same portable subset as 0001.

alter table link_attempts add column outcome text;
