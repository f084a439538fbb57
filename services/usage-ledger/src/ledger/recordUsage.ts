import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Transaction } from '../database/inTransaction.ts';

/**
 * Writes calls, adds what they cost to every total and posts it to the wallets, and returns how many rows are new or became
 * known. A call recorded before changes nothing, except that `unknown` gives way to `success` or `failure`. At most one
 * event per call. `source` says in the postings where the events came from.
 *
 * The database's owner does it, in the function `record_usage`: this service's role may not write to the books itself.
 */
export async function recordUsage(tx: Transaction, source: string, events: UsageRecorded[]): Promise<number> {
  const column = <T>(read: (event: UsageRecorded) => T): T[] => events.map(read);
  const amounts = (read: (event: UsageRecorded) => bigint): string[] => events.map((event) => String(read(event)));
  const instants = (read: (event: UsageRecorded) => number): string[] =>
    events.map((event) => new Date(read(event)).toISOString());
  const [result] = await tx.$queryRaw<{ recorded: bigint }[]>`
    SELECT record_usage(
      ${source},
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
      ${instants((event) => Math.max(event.endedAtMs, event.startedAtMs))}::TIMESTAMPTZ[]
    ) AS recorded`;
  return Number(result?.recorded ?? 0);
}
