-- The lives of a region's ledger. The first one of a region counts at once. A later one counts once an operator has confirmed it.
CREATE TABLE region_epoch (
  region TEXT NOT NULL CHECK (region IN ('us', 'eu')),
  epoch UUID NOT NULL,
  first_reported_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  last_reported_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  confirmed_by TEXT,
  confirmed_at TIMESTAMPTZ(3),
  PRIMARY KEY (region, epoch),
  CHECK ((confirmed_by IS NULL) = (confirmed_at IS NULL))
);

-- The recorded calls of a workspace in a UTC day, as its region told last: the whole sums, never a difference. `seq` is the ledger's
-- sequence of the workspace after the last change of the day.
CREATE TABLE day_total (
  workspace_id TEXT NOT NULL REFERENCES workspace (workspace_id),
  day DATE NOT NULL,
  epoch UUID NOT NULL,
  seq BIGINT NOT NULL,
  spend_nano_usd NUMERIC NOT NULL,
  requests BIGINT NOT NULL,
  reported_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, day, epoch)
);
CREATE TRIGGER day_total_is_kept BEFORE DELETE OR TRUNCATE ON day_total EXECUTE FUNCTION refuse_change();
CREATE TRIGGER region_epoch_is_kept BEFORE DELETE OR TRUNCATE ON region_epoch EXECUTE FUNCTION refuse_change();
