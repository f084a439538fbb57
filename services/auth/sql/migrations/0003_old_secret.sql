-- A key has up to two secrets, so that its id, budget and history stay when it is rotated: the one beside its id, and the old one,
-- which works until its end. The version before goes on working here, and knows the newer secret alone: to one of its processes an old
-- secret is nobody, so no key is to be rotated while processes of both versions run. It is so and not the other way round because a
-- release that is taken back must not let in a secret that has ended.
-- Keys that the version before rotated stay two keys, of which the old one ends when it was said to; `replaced_by` goes when none
-- of them is left.
ALTER TABLE api_key
  ADD COLUMN old_stored_hash TEXT UNIQUE CHECK (old_stored_hash ~ '^[0-9a-f]{64}$'),
  ADD COLUMN old_pepper_id TEXT,
  ADD COLUMN old_last_four TEXT CHECK (length(old_last_four) = 4),
  ADD COLUMN old_ends_at TIMESTAMPTZ(3),
  ADD CONSTRAINT old_secret_is_whole CHECK (
    num_nulls(old_stored_hash, old_pepper_id, old_last_four, old_ends_at) IN (0, 4)
  );
