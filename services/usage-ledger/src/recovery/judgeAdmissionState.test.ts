import { expect, it } from '@jest/globals';
import { judgeAdmissionState, type RedisServer } from './judgeAdmissionState.ts';

const [A, B] = ['a'.repeat(40), 'b'.repeat(40)];
const aServer = (redisId: string, fields: Partial<RedisServer> = {}): RedisServer => ({
  shard: '0-16383',
  redisId,
  mark: `mark of ${redisId[0]}`,
  isOpen: false,
  raisedMsAgo: 100,
  ...fields,
});
/** Routers by what they see, and whether they have put back there: `A` has, `a` has not, `-` sees none. */
const routers = (text: string) =>
  [...text].map((letter, nth) => ({
    routerId: `r${nth}`,
    redisId: letter === '-' ? null : letter.toLowerCase() === 'a' ? A : B,
    putBackMark: letter === 'A' || letter === 'B' ? `mark of ${letter.toLowerCase()}` : null,
  }));

const judge = (text: string, servers: RedisServer[], redisId = B, missingMark: string | null = null) => {
  const { move, isStranger } = judgeAdmissionState(
    { routers: routers(text), servers, hasBalances: true },
    { redisId, missingMark },
  );
  return isStranger ? 'stranger' : (move?.kind ?? 'waits');
};

it.each<[string, string, RedisServer[], string]>([
  ['is taken when nobody has seen it', 'b', [], 'taken'],
  ['waits for those who have not put back', 'BBb', [aServer(B)], 'waits'],
  ['waits for those who see no Redis', 'BB-', [aServer(B)], 'waits'],
  ['opens when all have put back', 'BBB', [aServer(B)], 'opened'],
  ['does not open for nobody, however long it takes', 'bbb', [aServer(B, { raisedMsAgo: 60_000 })], 'waits'],
  ['fences who takes longer than 3 s', 'Bb-', [aServer(B, { raisedMsAgo: 3_000 })], 'opened'],
  ['waits until then', 'Bb-', [aServer(B, { raisedMsAgo: 2_900 })], 'waits'],
  [
    'takes over from one that was open and that nobody sees any more',
    'BB',
    [aServer(A, { isOpen: true }), aServer(B)],
    'opened',
  ],
  [
    'is a stranger beside an open one that as many see',
    'AB',
    [aServer(A, { isOpen: true }), aServer(B, { raisedMsAgo: 9_999 })],
    'stranger',
  ],
  [
    'is a stranger beside one that fewer see, at first',
    'ABB',
    [aServer(A, { isOpen: true }), aServer(B, { raisedMsAgo: 1_900 })],
    'stranger',
  ],
  [
    'supersedes one that fewer see, after 2 s',
    'ABB',
    [aServer(A, { isOpen: true }), aServer(B, { raisedMsAgo: 2_000 })],
    'superseded',
  ],
  [
    'supersedes one also before anybody has put back, as nobody writes into a stranger',
    'Abb',
    [aServer(A, { isOpen: true }), aServer(B, { raisedMsAgo: 2_000 })],
    'superseded',
  ],
  ['comes after a closed one that more see', 'AAB', [aServer(A), aServer(B, { raisedMsAgo: 9_999 })], 'waits'],
  [
    'comes after a closed one that as many see and that was there first',
    'AB',
    [aServer(A, { raisedMsAgo: 6_000 }), aServer(B, { raisedMsAgo: 5_000 })],
    'waits',
  ],
  [
    'comes before a closed one that as many see and that came later',
    'AB',
    [aServer(A, { raisedMsAgo: 4_500 }), aServer(B, { raisedMsAgo: 5_000 })],
    'opened',
  ],
  [
    'comes before one that many see and nobody can put back into',
    'aaB',
    [aServer(A), aServer(B, { raisedMsAgo: 5_000 })],
    'opened',
  ],
])('a Redis %s', (_what, text, servers, verdict) => {
  expect(judge(text, servers)).toBe(verdict);
});

it.each<[string, string, number, string | undefined]>([
  ['begins anew while it is kept out', 'AAB', 600, 'kept_out'],
  ['is not noted at each report', 'AAB', 400, undefined],
  ['runs once most see it', 'ABB', 1_900, undefined],
])('the time that others have for a Redis %s', (_what, text, raisedMsAgo, kind) => {
  const servers = [aServer(A, { isOpen: true }), aServer(B, { raisedMsAgo })];
  const judgement = judgeAdmissionState(
    { routers: routers(text), servers, hasBalances: true },
    { redisId: B, missingMark: null },
  );
  expect([judgement.isStranger, judgement.move?.kind]).toEqual([true, kind]);
});

it('an open gate stays open for whoever comes, unless its Redis was emptied', () => {
  const servers = [aServer(B, { isOpen: true })];
  expect(judge('Bb-', servers)).toBe('waits');
  expect(judge('Bb-', servers, B, 'an older mark')).toBe('waits');
  expect(judge('Bb-', servers, B, 'mark of b')).toBe('emptied');
});

it('names those it waits for', () => {
  expect(
    judgeAdmissionState(
      { routers: routers('BbA-'), servers: [aServer(B)], hasBalances: true },
      { redisId: B, missingMark: null },
    ).waitsFor,
  ).toEqual(['r1', 'r2', 'r3']);
});

it('opens no gate before the ledger gives balances', () => {
  const judged = judgeAdmissionState(
    { routers: routers('BB'), servers: [aServer(B)], hasBalances: false },
    { redisId: B, missingMark: null },
  );
  expect(judged.move).toBeUndefined();
});
