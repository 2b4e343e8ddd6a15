-- What an entry of the audit says, as facts: a JSON object. Null: a version wrote the entry that knew `subject` alone. Same
-- portable subset as 0001.

alter table audit add column details text;
