-- The side that blocked a blocked key. Of no meaning for a key that is not blocked. A block of before, and of a process of the version
-- before, counts as the operator's.
ALTER TABLE api_key
  ADD COLUMN blocked_by TEXT NOT NULL DEFAULT 'operator' CHECK (blocked_by IN ('operator', 'console'));
