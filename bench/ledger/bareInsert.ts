import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { sql } from '@turnpike/postgres/sql';
import type { TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';

/** A table of the same columns and primary key as the ledger's, without partitions, checks and triggers. */
export async function createBareTable({ ownerDb }: TestLedger): Promise<void> {
  await ownerDb.$executeRaw`CREATE TABLE bare_request (LIKE usage_request INCLUDING DEFAULTS)`;
  await ownerDb.$executeRaw`ALTER TABLE bare_request DROP COLUMN total_tokens, ADD PRIMARY KEY (call_id)`;
  await ownerDb.$executeRaw`GRANT INSERT ON bare_request TO PUBLIC`;
}

/** The baseline: one statement that writes the rows, and nothing else, prepared as the ledger’s own are. */
export async function insertBare(db: TestLedger['db'], events: UsageRecorded[]): Promise<void> {
  const column = <T>(read: (event: UsageRecorded) => T): T[] => events.map(read);
  const amounts = (read: (event: UsageRecorded) => bigint): string[] => events.map((event) => String(read(event)));
  const instants = (read: (event: UsageRecorded) => number): string[] =>
    events.map((event) => new Date(read(event)).toISOString());
  const insert = sql`
    INSERT INTO bare_request (
      call_id, key_id, workspace_id, region, operation, model, canonical_model, price_version, status, reason,
      prompt_tokens, cached_prompt_tokens, completion_tokens, images, charge_nano_usd, formula_nano_usd, hold_nano_usd,
      modality, billing_unit, is_stream, started_at, ended_at
    )
    SELECT * FROM unnest(
      ${column((event) => event.callId)}::UUID[],
      ${column((event) => event.keyId)}::TEXT[],
      ${column((event) => event.workspaceId)}::TEXT[],
      ${column((event) => event.region)}::TEXT[],
      ${column((event) => event.operation)}::TEXT[],
      ${column((event) => event.model)}::TEXT[],
      ${column((event) => event.canonicalModel)}::TEXT[],
      ${column((event) => event.priceVersion)}::INT[],
      ${column((event) => event.status)}::TEXT[],
      ${column((event) => event.reason)}::TEXT[],
      ${column((event) => event.promptTokens)}::INT[],
      ${column((event) => event.cachedPromptTokens)}::INT[],
      ${column((event) => event.completionTokens)}::INT[],
      ${column((event) => event.images)}::INT[],
      ${amounts((event) => event.chargeNanoUsd)}::BIGINT[],
      ${amounts((event) => event.formulaNanoUsd)}::BIGINT[],
      ${amounts((event) => event.holdNanoUsd)}::BIGINT[],
      ${column((event) => event.modality)}::TEXT[],
      ${column((event) => event.billingUnit)}::TEXT[],
      ${column((event) => event.isStream)}::BOOLEAN[],
      ${instants((event) => event.startedAtMs)}::TIMESTAMPTZ[],
      ${instants((event) => event.endedAtMs)}::TIMESTAMPTZ[]
    )`;
  await db.execute(insert);
}
