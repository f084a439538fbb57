-- The hash over the applied entries of the feed, as the account layer gave it. Null: not known yet.
ALTER TABLE feed_cursor ADD COLUMN chain TEXT;
