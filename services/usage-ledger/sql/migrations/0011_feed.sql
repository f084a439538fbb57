-- The last applied entry of the account layer's feed: one row.
CREATE TABLE feed_cursor (
  only_one BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_one),
  epoch TEXT,
  seq INTEGER NOT NULL DEFAULT 0 CHECK (seq >= 0)
);
INSERT INTO feed_cursor DEFAULT VALUES;
