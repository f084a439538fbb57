import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type FaultProxy, openFaultProxy } from '@turnpike/test-support/faultProxy';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { untilDatabaseAnswers } from './untilDatabaseAnswers.ts';

let postgres: TestPostgres;
let link: FaultProxy;

beforeAll(async () => {
  postgres = await startPostgres();
  link = await openFaultProxy(postgres.port);
});
afterAll(async () => {
  await link.close();
  await postgres.stop();
});

const addressOf = (port: number, database = 'postgres'): string =>
  `postgresql://postgres@127.0.0.1:${port}/${database}`;

/** Collects the lines, and resolves at the first one. */
function hear(): { said: string[]; say: (line: string) => void; first: Promise<void> } {
  const said: string[] = [];
  const { promise: first, resolve } = Promise.withResolvers<void>();
  return {
    said,
    first,
    say(line) {
      said.push(line);
      resolve();
    },
  };
}

it.each([
  ['refuses connections', { refuse: true }],
  ['is silent', { blackHole: true }],
  ['breaks connections off', { resetOnAccept: true }],
])('waits while a database %s, and says once what for', async (_how, behaviour) => {
  await link.become(behaviour);
  const { said, say, first } = hear();
  const waiting = untilDatabaseAnswers({ service: 'test', databaseUrl: addressOf(link.port), say });
  await first;
  await link.become({});
  await waiting;
  expect(said).toEqual([`the database at 127.0.0.1:${link.port}/postgres does not answer: trying for 30 s`]);
});

it('waits while a database starts', async () => {
  await postgres.crash();
  const { said, say, first } = hear();
  const waiting = untilDatabaseAnswers({ service: 'test', databaseUrl: addressOf(postgres.port), say });
  await first;
  await postgres.restart();
  await waiting;
  expect(said).toHaveLength(1);
});

it('leaves what a database refuses to who asks it next, at once', async () => {
  const { said, say } = hear();
  await untilDatabaseAnswers({ service: 'test', databaseUrl: addressOf(postgres.port, 'nowhere'), say });
  await untilDatabaseAnswers({
    service: 'test',
    databaseUrl: addressOf(postgres.port).replace('postgres@', 'x@'),
    say,
  });
  expect(said).toEqual([]);
});

it('says in one line where there is no database', async () => {
  const port = await findFreePort();
  const waiting = untilDatabaseAnswers({ service: 'test', databaseUrl: addressOf(port), say: () => {}, patienceMs: 1 });
  await expect(waiting).rejects.toThrow(
    `test cannot start: the database at 127.0.0.1:${port}/postgres does not answer: connect ECONNREFUSED 127.0.0.1:${port}`,
  );
});
