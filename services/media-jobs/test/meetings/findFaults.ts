import { isDeepStrictEqual } from 'node:util';
import { type Met, NOBODY } from './openMeetings.ts';

/** The amount that `aCall` holds, and the cost of its result. */
const PRICE_NANO_USD = 1_000_000n;

/** Lists faults of a job that several contenders ended. None, if it ended once, was charged once, and all were told so. */
export function findFaults(met: Met): string[] {
  return [...findFaultsOfEnd(met), ...findFaultsOfMoney(met), ...findFaultsOfAnswers(met), ...findFaultsOfBytes(met)];
}

const hasComer = ({ meeting }: Met, kind: string): boolean => meeting.contenders.some((each) => each.kind === kind);
const wasDeleted = ({ deleted }: Met): boolean => deleted.includes(true);
const isGone = (met: Met): boolean => wasDeleted(met) || hasComer(met, 'expiry');

const sayIf = (isWrong: boolean, what: () => string): string[] => (isWrong ? [what()] : []);

function findFaultsOfEnd(met: Met): string[] {
  const { ends, row, meeting } = met;
  const winners = ends.filter(({ rows }) => rows !== 0);
  const codes = [
    ...(meeting.worker === 'refused' ? ['content_refused'] : []),
    ...(hasComer(met, 'deadline') ? ['timed_out', 'storage_unavailable'] : []),
    ...(hasComer(met, 'takeover') ? ['backend_lost'] : []),
  ];
  return [
    ...sayIf(winners.length !== 1, () => `ended ${winners.length} times: ${winners.map(({ state }) => state)}`),
    ...sayIf(row.state !== winners[0]?.state, () => `is ${row.state} and was made ${winners[0]?.state}`),
    ...sayIf(row.state === 'failed' && !codes.includes(row.errorCode ?? ''), () => `failed by ${row.errorCode}`),
    ...sayIf(row.state === 'cancelled' && !wasDeleted(met), () => 'cancelled by nobody'),
    ...sayIf(row.state === 'completed' && meeting.worker === 'refused', () => 'completed, and nothing was made'),
    ...sayIf(met.counted !== 1, () => `counted ${met.counted} times`),
  ];
}

function findFaultsOfMoney(met: Met): string[] {
  const { row, settlements, released, deleted } = met;
  const charge = row.state === 'completed' ? PRICE_NANO_USD : 0n;
  const [first, ...again] = settlements;
  return [
    ...sayIf(row.chargeNanoUsd !== charge, () => `${row.state} and charged ${row.chargeNanoUsd}`),
    ...sayIf(first?.chargeNanoUsd !== charge, () => `${row.state} and settled with ${first?.chargeNanoUsd}`),
    ...sayIf(
      first?.status !== (row.state === 'completed' ? 'success' : 'failure'),
      () => `${row.state} and settled as ${first?.status}`,
    ),
    // A DELETE of a job that is being settled has it settled again by the same call id, which counts once.
    ...sayIf(again.length > 0 && deleted.length === 0, () => `settled ${settlements.length} times`),
    ...sayIf(
      again.some((event) => !isDeepStrictEqual(event, first)),
      () => 'settled in two ways',
    ),
    ...sayIf(released > 0, () => 'its hold was given back as that of no job'),
    ...sayIf(row.owner === NOBODY, () => 'its money is nobody’s'),
  ];
}

function findFaultsOfAnswers(met: Met): string[] {
  const { deleted, seen, awaited, shown, row } = met;
  const found = deleted.filter((each) => each).length;
  const asItEnded = (status: string | undefined): boolean =>
    status === undefined ? isGone(met) : status === row.state || status === 'queued' || status === 'in_progress';
  return [
    ...sayIf(found > 1, () => `${found} DELETEs were told that they deleted it`),
    ...sayIf(
      deleted.length > 0 && found === 0 && !hasComer(met, 'expiry'),
      () => 'no DELETE was told that it deleted it',
    ),
    ...seen.flatMap((job) => sayIf(!asItEnded(job?.status), () => `seen as ${job?.status} and ${row.state}`)),
    ...sayIf(
      awaited !== null && !(awaited === undefined ? isGone(met) : awaited.status === row.state),
      () => `waited for, and told ${awaited?.status} where it is ${row.state}`,
    ),
    ...sayIf(shown?.status !== (isGone(met) ? undefined : row.state), () => `shown as ${shown?.status} afterwards`),
  ];
}

function findFaultsOfBytes(met: Met): string[] {
  const { row, jobId, shown, isReadable, objects } = met;
  const isKept = row.state === 'completed' && !isGone(met);
  return [
    ...sayIf(isKept && !isReadable, () => 'what it made cannot be read'),
    ...sayIf(
      shown !== undefined && shown.outputs.length !== (isKept ? 1 : 0),
      () => `${shown?.outputs.length} outputs`,
    ),
    ...sayIf(
      shown !== undefined && !objects.includes(`jobs/${jobId}/text.key`),
      () => 'the key of its texts is gone before it is',
    ),
    ...sayIf(isGone(met) && row.state !== 'cancelled' && objects.length > 0, () => `removed, and has ${objects}`),
    ...sayIf(
      (row.removedAt !== null) !== (isGone(met) && row.state !== 'cancelled'),
      () => `removed at ${row.removedAt}`,
    ),
    ...sayIf(row.operation === 'videos' && row.backendClearedAt === null, () => 'its backend was not told'),
  ];
}
