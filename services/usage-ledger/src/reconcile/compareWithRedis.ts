import type { RedisCounters } from '@turnpike/internal-api/modelRouter';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { type Check, toCheck } from './check.ts';
import type { LedgerCut } from './readCut.ts';

/** A sweeper has so long after the end of a lease. */
const SWEEP_MS = 30_000;

/**
 * Holds what Redis counted at one instant against what the ledger has of the same one. A call that was settled and is not
 * recorded yet stands in Redis with its charge.
 */
export function compareWithRedis(counters: RedisCounters, cut: LedgerCut): Check[] {
  const open = counters.calls;
  const notRead = open.filter(({ state, call_id: callId }) => state === 'settled' && !cut.recorded.has(callId));
  const month = new Date(counters.now_ms).toISOString().slice(0, 7);
  const ofMonth = notRead.filter(({ admitted_at_ms: ms }) => new Date(ms).toISOString().startsWith(month));
  const held = open.filter(({ state }) => state === 'held');
  const ownerless = held.filter(({ lease_ends_in_ms: endsInMs }) => endsInMs < -SWEEP_MS);
  const unrecorded = open.filter(({ call_id: callId }) => !cut.recorded.has(callId));
  const ended = cut.calls + BigInt(unrecorded.length);
  const money = (name: Check['name'], left: NanoUsd, right: NanoUsd) => toCheck(name, 'nano_usd', left, right);
  return [
    money('redisCredited', counters.credited_nano_usd + cut.notAskedForNanoUsd, cut.creditedNanoUsd),
    money('redisSpent', counters.spent_nano_usd, cut.spentNanoUsd + chargesOf(notRead)),
    toCheck('redisKeys', 'count', countKeysApart(counters, cut, notRead), 0n),
    money('redisMonth', counters.months[month]?.spent_nano_usd ?? 0n, cut.monthSpentNanoUsd + chargesOf(ofMonth)),
    money(
      'redisHeld',
      counters.held_nano_usd,
      held.reduce((sum, call) => sum + call.hold_nano_usd, 0n),
    ),
    toCheck('admitted', 'count', countAdmitted(counters, ended), ended),
    toCheck('ownerless', 'count', BigInt(ownerless.length), 0n),
  ];
}

type Calls = RedisCounters['calls'];

const chargesOf = (calls: Calls): NanoUsd => calls.reduce((sum, call) => sum + call.charge_nano_usd, 0n);

/** Calls admitted. A call from before Redis was lost may be counted twice, and is then taken off. */
function countAdmitted({ admitted_calls: admitted, uncertain_calls: uncertain }: RedisCounters, ended: bigint): bigint {
  const surplus = BigInt(admitted) - ended;
  return surplus > 0n && surplus <= BigInt(uncertain) ? ended : BigInt(admitted);
}

function countKeysApart(counters: RedisCounters, cut: LedgerCut, notRead: Calls): bigint {
  const apart = Object.entries(counters.keys).filter(([keyId, { spent_nano_usd: spent }]) => {
    const waiting = chargesOf(notRead.filter((call) => call.key_id === keyId));
    return spent !== (cut.spentNanoUsdByKey.get(keyId) ?? 0n) + waiting;
  });
  return BigInt(apart.length);
}
