-- The most that a key may spend in each day, week from Monday or month, UTC, beside its budget in all. A router or ledger of the version
-- before does not know it, so it is set once every process is of this version.
ALTER TABLE api_key
  ADD COLUMN budget_period TEXT CHECK (budget_period IN ('day', 'week', 'month')),
  ADD COLUMN period_budget_nano_usd BIGINT CHECK (period_budget_nano_usd >= 0),
  ADD CONSTRAINT period_budget_is_whole CHECK (num_nulls(budget_period, period_budget_nano_usd) IN (0, 2));
