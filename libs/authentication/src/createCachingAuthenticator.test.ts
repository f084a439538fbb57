import { setImmediate } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { generateApiKey } from '@turnpike/api-keys/apiKey';
import { aKeyRecordBody, type KeyRecord, keyRecordSchema } from '@turnpike/internal-api/keyRecord';
import { createCachingAuthenticator } from './createCachingAuthenticator.ts';

const record: KeyRecord = keyRecordSchema.parse(aKeyRecordBody());

/** One whose questions a test answers by hand. */
function anAuthenticator({ nowMs = () => performance.now() } = {}) {
  const questions: PromiseWithResolvers<KeyRecord | undefined>[] = [];
  const authenticator = createCachingAuthenticator({
    region: 'us',
    cacheTtlMs: 300_000,
    nowMs,
    findKey() {
      const question = Promise.withResolvers<KeyRecord | undefined>();
      questions.push(question);
      return question.promise;
    },
  });
  return { questions, ...authenticator };
}
const aHeader = () => `Bearer ${generateApiKey()}`;

it('keeps no verdict that was on its way when all were forgotten, and nobody who comes later gets it', async () => {
  const { authenticate, forgetAll, questions } = anAuthenticator();
  const key = aHeader();
  const before = authenticate(key);
  forgetAll();
  const after = authenticate(key);
  questions[0]?.resolve(record);
  expect((await before).generation).toBe(1);
  questions[1]?.resolve({ ...record, generation: 2 });
  expect((await after).generation).toBe(2);
  expect((await authenticate(key)).generation).toBe(2);
  expect(questions).toHaveLength(2);
});

it('forgets known and unknown keys alike', async () => {
  const { authenticate, forgetAll, questions } = anAuthenticator();
  const [known, unknown] = [aHeader(), aHeader()];
  const asked = [authenticate(known), authenticate(unknown)];
  questions[0]?.resolve(record);
  questions[1]?.resolve(undefined);
  const [first, second] = await Promise.allSettled(asked);
  expect([first?.status, second?.status]).toEqual(['fulfilled', 'rejected']);

  forgetAll();
  const again = [authenticate(known), authenticate(unknown)];
  for (const question of questions.slice(2)) question.resolve(record);
  expect(await Promise.all(again)).toEqual([record, record]);
  expect(questions).toHaveLength(4);
});

it('forgets a key that is being rotated under both of its secrets', async () => {
  const { authenticate, forget, questions } = anAuthenticator();
  const secrets = [aHeader(), aHeader()];
  const asked = secrets.map((secret) => authenticate(secret));
  for (const question of questions) question.resolve(record);
  await Promise.all(asked);

  forget(record.keyId);
  const again = secrets.map((secret) => authenticate(secret));
  expect(questions).toHaveLength(4);
  for (const question of questions.slice(2)) question.resolve({ ...record, generation: 2 });
  expect((await Promise.all(again)).map(({ generation }) => generation)).toEqual([2, 2]);
});

it('lets no key in after its end, however long the answer about it took', async () => {
  let ms = 0;
  const { authenticate, questions } = anAuthenticator({ nowMs: () => ms });
  const header = aHeader();
  const asked = authenticate(header);
  ms = 400;
  questions[0]?.resolve({ ...record, expiresInMs: 1_000 });
  await asked;
  ms = 999;
  await authenticate(header);
  expect(questions).toHaveLength(1);
  ms = 1_000;
  const late = authenticate(header);
  questions[1]?.resolve(undefined);
  await expect(late).rejects.toMatchObject({ fault: { kind: 'invalid_api_key' } });
});

it('lets a key call its models alone, and asks about a refused key once in 5 s', async () => {
  const { authenticate, assertMayCall, questions } = anAuthenticator();
  const header = aHeader();
  const ask = async (allowedModels: string[] | null) => {
    const asked = authenticate(header);
    questions.at(-1)?.resolve({ ...record, allowedModels });
    return asked;
  };
  expect(() => assertMayCall(record, 'any')).not.toThrow();
  const limited = await ask(['small', 'large']);
  expect(() => assertMayCall(limited, 'large')).not.toThrow();
  expect(() => assertMayCall(limited, 'huge')).toThrow(
    expect.objectContaining({
      fault: { kind: 'model_not_allowed', model: 'huge', allowedModels: ['small', 'large'] },
    }),
  );
  const newer = await ask(['small', 'huge']);
  expect(() => assertMayCall(newer, 'huge')).not.toThrow();
  expect(() => assertMayCall(newer, 'large')).toThrow();
  await ask(null);
  expect(questions).toHaveLength(2);
});

it('forgets what a key was let in by before its last two secrets, as that has ended', async () => {
  const { authenticate, forget, questions } = anAuthenticator();
  const secrets = [aHeader(), aHeader(), aHeader()];
  for (const [index, secret] of secrets.entries()) {
    const asked = authenticate(secret);
    questions[index]?.resolve(record);
    await asked;
  }
  forget(record.keyId);
  const [ended = ''] = secrets;
  const again = authenticate(ended);
  questions[3]?.resolve(undefined);
  await expect(again).rejects.toMatchObject({ fault: { kind: 'invalid_api_key' } });
});

it('asks nobody where it is told not to, once for all who wait, and not about what it remembers', async () => {
  const { authenticate, questions } = anAuthenticator();
  const key = aHeader();
  let told = 0;
  const count = () => {
    told += 1;
  };
  const refuse = () => {
    throw new Error('not now');
  };
  await expect(authenticate(key, refuse)).rejects.toThrow('not now');
  expect(questions).toHaveLength(0);

  const waiting = [authenticate(key, count), authenticate(key, refuse)];
  questions[0]?.resolve(record);
  expect(await Promise.all(waiting)).toEqual([record, record]);
  expect(await authenticate(key, refuse)).toEqual(record);
  expect(told).toBe(1);
});

it('forgets a key that is called all the time, however many others were let in since it was asked about', async () => {
  let asked = 0;
  const { authenticate, forget } = createCachingAuthenticator({
    region: 'us',
    cacheTtlMs: 300_000,
    async findKey() {
      asked += 1;
      return { ...record, keyId: `key_${asked}` };
    },
  });
  const often = aHeader();
  const { keyId } = await authenticate(often);
  for (let nth = 0; nth < 50_000; nth += 1) {
    await authenticate(aHeader());
    if (nth % 1_000 === 0) await authenticate(often);
  }
  expect(await authenticate(often)).toMatchObject({ keyId });
  const before = asked;
  forget(keyId);
  await authenticate(often);
  expect(asked).toBe(before + 1);
});

it('counts down what is left of a key by no wall clock, and asks again once it is over', async () => {
  const clock = { ms: 0 };
  const { authenticate, questions } = anAuthenticator({ nowMs: () => clock.ms });
  const key = aHeader();
  const first = authenticate(key);
  // The key has expired by the clock of this process.
  questions[0]?.resolve({ ...record, expiresAt: new Date(Date.now() - 300_000).toISOString(), expiresInMs: 100 });
  expect(await first).toMatchObject({ keyId: record.keyId });

  clock.ms = 99;
  expect(await authenticate(key)).toMatchObject({ keyId: record.keyId });
  expect(questions).toHaveLength(1);
  clock.ms = 100;
  const second = authenticate(key);
  questions[1]?.resolve(undefined);
  await expect(second).rejects.toMatchObject({ fault: { kind: 'invalid_api_key' } });
});

it('takes a key for none that has nothing left', async () => {
  const { authenticate, questions } = anAuthenticator();
  const asked = authenticate(aHeader());
  const expiresAt = new Date(Date.now() + 300_000).toISOString();
  questions[0]?.resolve({ ...record, expiresAt, expiresInMs: 0 });
  await expect(asked).rejects.toMatchObject({ fault: { kind: 'invalid_api_key' } });
});

/** Makes an authenticator on a clock of the test, with a verdict of 30 s and a grace of 15 s. Auth answers unless it is away. */
function aGracefulAuthenticator() {
  const clock = { ms: 0 };
  const auth: { isAway: boolean; asked: number; key: KeyRecord | undefined } = { isAway: false, asked: 0, key: record };
  const authenticator = createCachingAuthenticator({
    region: 'us',
    cacheTtlMs: 30_000,
    graceMs: 15_000,
    nowMs: () => clock.ms,
    async findKey() {
      auth.asked += 1;
      if (auth.isAway) throw new Error('away');
      return auth.key;
    },
  });
  return { clock, auth, ...authenticator };
}
const settled = (): Promise<void> => setImmediate();

it('lets a key that is used once a second go on for 29 s after auth has gone, whenever that is', async () => {
  for (const goneAt of [1, 8, 14, 15, 16, 23, 29, 30, 31]) {
    const { clock, auth, authenticate } = aGracefulAuthenticator();
    const key = aHeader();
    let lastAt = 0;
    for (let second = 0; second < 90; second += 1) {
      clock.ms = second * 1_000;
      auth.isAway = second >= goneAt;
      const isLetIn = await authenticate(key).then(
        () => true,
        () => false,
      );
      await settled();
      if (!isLetIn) break;
      lastAt = second;
    }
    expect(lastAt - goneAt).toBeGreaterThanOrEqual(29);
    expect(lastAt - goneAt).toBeLessThanOrEqual(45);
  }
});

it('asks about a key in use once in 15 s, and without an answer once a second', async () => {
  const { clock, auth, authenticate } = aGracefulAuthenticator();
  const key = aHeader();
  const use = async (ms: number): Promise<void> => {
    for (const until = clock.ms + ms; clock.ms < until; clock.ms += 100) {
      await authenticate(key);
      await settled();
    }
  };
  await use(30_000);
  expect(auth.asked).toBe(2);
  auth.isAway = true;
  await use(25_000);
  expect(auth.asked).toBeLessThanOrEqual(2 + 26);
});

it('lets a key in by no verdict older than 30 s while auth answers, and by none past its end', async () => {
  const { clock, auth, authenticate } = aGracefulAuthenticator();
  const [revoked, ending] = [aHeader(), aHeader()];
  await authenticate(revoked);
  auth.key = { ...record, keyId: 'key_ending', expiresInMs: 32_000 };
  await authenticate(ending);
  clock.ms = 30_000;
  auth.key = undefined;
  await expect(authenticate(revoked)).rejects.toMatchObject({ fault: { kind: 'invalid_api_key' } });
  auth.isAway = true;
  await expect(authenticate(ending)).resolves.toMatchObject({ keyId: 'key_ending' });
  clock.ms = 32_000;
  await expect(authenticate(ending)).rejects.toMatchObject({ fault: { kind: 'auth_unavailable' } });
});
