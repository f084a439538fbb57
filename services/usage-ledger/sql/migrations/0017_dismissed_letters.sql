-- A dead letter that the operator gave up says when and why. It waits no more, and can still be replayed. For routers it is as before.
ALTER TABLE dead_letter
  ADD COLUMN dismissed_at TIMESTAMPTZ(3),
  ADD COLUMN dismissal_note TEXT,
  ADD CONSTRAINT dismissed_with_note CHECK ((dismissed_at IS NULL) = (dismissal_note IS NULL));
