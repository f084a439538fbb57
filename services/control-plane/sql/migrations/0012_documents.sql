-- A copy of an invoice or a credit note of the processor. Its bytes are in the object store, and never change.
CREATE TABLE document (
  position BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,
  -- The processor's id.
  document_id TEXT PRIMARY KEY CHECK (document_id ~ '^\w{3,128}$'),
  organization_id TEXT NOT NULL REFERENCES organization (organization_id),
  kind TEXT NOT NULL CHECK (kind IN ('invoice', 'credit_note')),
  number TEXT NOT NULL UNIQUE,
  -- What it was when it was copied.
  status TEXT NOT NULL CHECK (status IN ('paid', 'void', 'uncollectible', 'issued')),
  -- The invoice that a credit note is about.
  invoice_id TEXT,
  currency TEXT NOT NULL CHECK (currency IN ('usd', 'eur')),
  total_cents BIGINT NOT NULL CHECK (total_cents >= 0),
  tax_cents BIGINT NOT NULL CHECK (tax_cents BETWEEN 0 AND total_cents),
  issued_at TIMESTAMPTZ(3) NOT NULL,
  pdf_key TEXT NOT NULL UNIQUE,
  pdf_sha256 TEXT NOT NULL CHECK (pdf_sha256 ~ '^[0-9a-f]{64}$'),
  json_key TEXT NOT NULL UNIQUE,
  json_sha256 TEXT NOT NULL CHECK (json_sha256 ~ '^[0-9a-f]{64}$'),
  copied_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  CHECK ((kind = 'credit_note') = (invoice_id IS NOT NULL)),
  CHECK ((kind = 'credit_note') = (status = 'issued'))
);
CREATE INDEX document_of_organization ON document (organization_id, position);
CREATE TRIGGER document_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON document EXECUTE FUNCTION refuse_change();
