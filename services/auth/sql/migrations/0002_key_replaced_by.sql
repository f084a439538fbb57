-- A key is rotated once: the one in its place is rotated next.
ALTER TABLE api_key ADD COLUMN replaced_by TEXT REFERENCES api_key (key_id);
