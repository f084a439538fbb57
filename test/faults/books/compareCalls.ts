import type { CallRecord } from '../load/callRecord.ts';
import type { ServedRequest } from '../stack/simulators.ts';
import type { BookRules, Evidence } from './evidence.ts';
import type { ProblemList } from './problemList.ts';
import type { LedgerRow } from './readLedger.ts';

interface CallEvidence {
  callId: string;
  client: CallRecord | undefined;
  attempts: readonly ServedRequest[];
  row: LedgerRow | undefined;
}

/** Compares each call's row with what its client saw and its engine served. Returns lost and doubled calls and money apart. */
export function compareCalls(
  evidence: Evidence,
  rules: BookRules,
  problems: ProblemList,
): { lost: number; doubled: number; difference: bigint } {
  let [lost, doubled, unknown] = [0, 0, 0];
  let difference = 0n;
  const free: Delivered[] = [];
  for (const call of gather(evidence)) {
    const { callId, client, attempts, row } = call;
    if (!row) {
      const isAdmitted = client?.isAdmitted === true || attempts.length > 0;
      if (!isAdmitted || rules.goneWithPostgres.has(callId)) continue;
      lost += 1;
      problems.add('a call has no row', `${callId}: ${describeCall(call)}`);
      continue;
    }
    if (attempts.length === 0 && client === undefined && row.charge > 0n) {
      doubled += 1;
      problems.add('a row is charged for a call that nobody made', callId);
    }
    if (row.status === 'unknown') unknown += 1;
    const tokens = client?.deltas ?? 0;
    if (row.status === 'failure' && tokens > 0) free.push({ reason: `${row.reason}`, tokens });
    difference += compareCharge(call, row, evidence, rules, problems);
  }
  if (unknown > rules.unknownAtMost)
    problems.add(`${unknown} calls ended as unknown, and ${rules.unknownAtMost} may`, describeUnknown(evidence));
  // One stream may have failed by chance, on a machine that has much to do.
  if (free.length > 1 && !rules.enginesBreak) {
    const tokens = free.reduce((sum, delivered) => sum + delivered.tokens, 0);
    problems.add(
      `${tokens} tokens were delivered by engines that were not broken and cost nothing`,
      describeFree(free),
    );
  }
  return { lost, doubled, difference };
}

/** Tokens that a client got from a call that cost nothing. */
interface Delivered {
  reason: string;
  tokens: number;
}

const describeFree = (free: readonly Delivered[]): string =>
  [...Map.groupBy(free, ({ reason }) => reason)].map(([reason, calls]) => `${calls.length} calls ${reason}`).join(', ');

/** Money that a row has too much or too little. */
function compareCharge(
  call: CallEvidence,
  row: LedgerRow,
  { prices }: Evidence,
  { enginesLie }: BookRules,
  problems: ProblemList,
): bigint {
  const { callId, client, attempts } = call;
  const costOf = (tokens: { promptTokens: number; cachedTokens: number; completionTokens: number }): bigint => {
    const cost = prices.costOf(tokens, { model: row.canonicalModel, version: row.priceVersion });
    return cost < row.hold ? cost : row.hold;
  };
  const finished = attempts.find(({ state }) => state === 'finished');
  const sawItsEnd = client?.outcome === 'ok';

  if (row.status !== 'success') {
    if (row.promptTokens + row.completionTokens > 0 || row.charge !== 0n)
      problems.add(`a row of status ${row.status} has tokens or a charge`, callId);
    if (!sawItsEnd) return row.charge;
    problems.add(`the client saw the end of a call whose row says ${row.status}`, `${callId}: ${describeCall(call)}`);
    return finished ? costOf(finished) : 1n;
  }
  const isCut = row.reason?.startsWith('cut_') === true;
  if (client && ((client.outcome === 'error_event' && !isCut) || /^[45]/.test(client.outcome)))
    problems.add('a call that failed for its client is charged', `${callId}: ${describeCall(call)}`);
  if (
    client?.usage &&
    (client.usage.promptTokens !== row.promptTokens || client.usage.completionTokens !== row.completionTokens)
  )
    problems.add('a row has other tokens than its client was told', `${callId}: ${describeCall(call)}`);
  if (enginesLie) return apart(row.charge, costOf(row));
  // An engine says at the end alone what came out of its cache. Of a cut call the router has heard that, or nothing of it, and
  // charges the whole prompt then.
  const served = finished ?? attempts.at(-1);
  if (row.cachedTokens > 0 && row.cachedTokens !== served?.cachedTokens)
    problems.add('a row has other cached tokens than its engine says', `${callId}: ${describeCall(call)}`);
  if (finished) {
    // A client that leaves as the last tokens come is charged what had arrived by then.
    const isWhole = sawItsEnd || row.reason === 'completed';
    const { completionTokens, cachedTokens } = isWhole ? finished : row;
    if (row.promptTokens !== finished.promptTokens || row.completionTokens > finished.completionTokens)
      problems.add('a row has tokens that the engine did not count', `${callId}: ${describeCall(call)}`);
    return apart(row.charge, costOf({ ...finished, completionTokens, cachedTokens }));
  }
  const aborted = attempts.find(({ state }) => state === 'aborted' || state === 'running');
  if (!aborted) {
    problems.add('a success that no engine served', `${callId}: ${describeCall(call)}`);
    return row.charge;
  }
  const isBetween = row.completionTokens >= (client?.deltas ?? 0) && row.completionTokens <= aborted.completionTokens;
  if (!isBetween || row.promptTokens !== aborted.promptTokens)
    problems.add(
      'a cut call is charged for less than was delivered or more than was made',
      `${callId}: ${describeCall(call)}`,
    );
  return apart(row.charge, costOf(row));
}

const apart = (a: bigint, b: bigint): bigint => (a > b ? a - b : b - a);

function gather({ calls, served, rows }: Evidence): CallEvidence[] {
  const clients = new Map<string, CallRecord>();
  for (const call of calls) if (call.callId !== undefined) clients.set(call.callId, call);
  const attempts = new Map<string, ServedRequest[]>();
  for (const request of served) {
    const callId = request.requestId.slice(0, 36);
    attempts.set(callId, [...(attempts.get(callId) ?? []), request]);
  }
  const ofText = rows.filter(({ modality }) => modality === 'text');
  const rowsById = new Map(ofText.map((row) => [row.callId, row]));
  const callIds = new Set([...clients.keys(), ...attempts.keys(), ...rowsById.keys()]);
  return [...callIds].map((callId) => ({
    callId,
    client: clients.get(callId),
    attempts: attempts.get(callId) ?? [],
    row: rowsById.get(callId),
  }));
}

function describeCall({ client, attempts, row }: CallEvidence): string {
  const engine = attempts.map(
    ({ state, promptTokens, completionTokens }) => `${state} ${promptTokens}+${completionTokens}`,
  );
  const client_ = client
    ? `${client.outcome}${client.isStream ? ' stream' : ''}${client.error ? ` (${client.error})` : ''}`
    : 'unseen';
  const row_ = row
    ? `${row.status} (${row.reason}) ${row.promptTokens}+${row.completionTokens}, ${row.charge}`
    : 'none';
  return `client ${client_}; engine ${engine.join(', ') || 'none'}; row ${row_}`;
}

function describeUnknown({ rows }: Evidence): string {
  const reasons = new Map<string, number>();
  for (const { status, reason, modality } of rows)
    if (status === 'unknown' && modality === 'text') reasons.set(`${reason}`, (reasons.get(`${reason}`) ?? 0) + 1);
  return [...reasons].map(([reason, count]) => `${count} ${reason}`).join(', ');
}
