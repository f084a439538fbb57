-- The buyer as invoices name it, and the VAT id with the verdict about it. The processor's customer has the same address.
ALTER TABLE billing_account
  ADD COLUMN name TEXT CHECK (length(name) BETWEEN 1 AND 200),
  ADD COLUMN line1 TEXT CHECK (length(line1) BETWEEN 1 AND 200),
  ADD COLUMN line2 TEXT CHECK (length(line2) BETWEEN 1 AND 200),
  ADD COLUMN postal_code TEXT CHECK (length(postal_code) BETWEEN 1 AND 20),
  ADD COLUMN city TEXT CHECK (length(city) BETWEEN 1 AND 200),
  ADD COLUMN state TEXT CHECK (length(state) BETWEEN 1 AND 200),
  ADD COLUMN country TEXT CHECK (country ~ '^[A-Z]{2}$'),
  ADD COLUMN vat_id TEXT CHECK (vat_id ~ '^[A-Z]{2}[0-9A-Z+*]{2,13}$'),
  ADD COLUMN vat_state TEXT CHECK (vat_state IN ('pending', 'verified', 'unverified', 'unavailable')),
  ADD COLUMN vat_asked_at TIMESTAMPTZ(3),
  -- The time of the verdict, and the name under which a verified VAT id is registered, where its state gives one.
  ADD COLUMN vat_checked_at TIMESTAMPTZ(3),
  ADD COLUMN vat_name TEXT,
  -- The VAT id at the processor. One that is not verified is not there, so that VAT is charged.
  ADD COLUMN psp_tax_id TEXT UNIQUE,
  -- One change at a time calls the processor, until this time at most.
  ADD COLUMN changing_until TIMESTAMPTZ(3),
  ADD CHECK (num_nulls(name, line1, city, country) IN (0, 4)),
  ADD CHECK (num_nulls(vat_id, vat_state, vat_asked_at) IN (0, 3)),
  ADD CHECK (vat_id IS NULL OR country IS NOT NULL),
  ADD CHECK (coalesce(vat_state IN ('pending', 'verified'), false) = (psp_tax_id IS NOT NULL));
CREATE INDEX asked_vat_id ON billing_account (vat_asked_at) WHERE vat_id IS NOT NULL;
