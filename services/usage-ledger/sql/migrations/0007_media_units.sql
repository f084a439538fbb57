-- Media: calls that are billed by what was measured, not by tokens. The version before works on these tables: what it records is text,
-- and it calls the functions by the same names.

-- Images, characters or whole seconds; null of text. No row is read by this migration: new checks hold for what is recorded from now
-- on, and older rows passed narrower ones (an archived month is given them by return_usage_month).
ALTER TABLE usage_request
  ADD COLUMN units INT,
  DROP CONSTRAINT usage_request_operation_check,
  ADD CONSTRAINT usage_request_operation_check CHECK (operation IN ('chat', 'completions', 'embeddings', 'images.generations',
    'videos', 'audio.speech', 'audio.transcriptions', 'audio.translations')) NOT VALID,
  DROP CONSTRAINT usage_request_modality_check,
  ADD CONSTRAINT usage_request_modality_check CHECK (modality IN ('text', 'image', 'audio', 'video')) NOT VALID,
  DROP CONSTRAINT usage_request_billing_unit_check,
  ADD CONSTRAINT usage_request_billing_unit_check
    CHECK (billing_unit IN ('token', 'image', 'second', 'character', 'minute')) NOT VALID,
  ADD CONSTRAINT text_is_billed_by_token CHECK ((modality = 'text') = (billing_unit = 'token')) NOT VALID,
  ADD CONSTRAINT media_have_units CHECK ((units IS NOT NULL) = (modality <> 'text')) NOT VALID,
  ADD CONSTRAINT only_a_success_consumes CHECK (units >= 0 AND (status = 'success' OR units = 0)) NOT VALID;

-- A projection beside key_hour_total: what was measured of media, by what it is billed by. Units of two kinds are never added up.
CREATE TABLE key_hour_units (
  key_id          TEXT           NOT NULL,
  hour            TIMESTAMPTZ(0) NOT NULL,
  canonical_model TEXT           NOT NULL,
  modality        TEXT           NOT NULL,
  billing_unit    TEXT           NOT NULL,
  units           NUMERIC        NOT NULL,
  PRIMARY KEY (key_id, hour, canonical_model, modality, billing_unit)
);
CREATE INDEX key_hour_units_by_hour ON key_hour_units USING brin (hour) WITH (autosummarize = on, pages_per_range = 16);
