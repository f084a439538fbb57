-- The process behind a report, for operators. Null of a router of the version before.
ALTER TABLE router ADD COLUMN service TEXT, ADD COLUMN host TEXT;
