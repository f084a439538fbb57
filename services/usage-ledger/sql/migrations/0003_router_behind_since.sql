-- For whoever watches a recovery; nothing is decided by it.
ALTER TABLE router
  -- Since when it has not put back anywhere, whichever Redis it saw meanwhile; null while it has.
  ADD COLUMN behind_since TIMESTAMPTZ;
