-- Models that an administrator switched off. They stay off whatever the catalog file says, until switched on again.
CREATE TABLE disabled_model (
  model_id    TEXT           NOT NULL PRIMARY KEY,
  disabled_at TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
