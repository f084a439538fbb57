import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { hastenPauses } from '@turnpike/lifecycle/test/hastenPauses';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { until } from '@turnpike/test-support/until';
import { aCatalogModel } from '../aCatalogModel.ts';
import type { CatalogFollower } from './followCatalog.ts';

hastenPauses(20);
const { followCatalog } = await import('./followCatalog.ts');

/** The next answer of the catalog service. */
let answer: { status: number; body: string };
let asked: (string | undefined)[];
let follower: CatalogFollower<{ version: number; modelIds: string[] }>;
let server: HttpStandIn;
const log = aSilentLogger();
const warned = jest.spyOn(log, 'warn');

const serve = (version: number, status = 200): void => {
  answer = { status, body: JSON.stringify({ version, region: 'us', models: [aCatalogModel()] }) };
  asked = [];
};
/** Until a question that the new answer was given to has been worked on. */
const untilRead = () => until('two more questions', () => asked.length >= 2);

beforeAll(async () => {
  serve(3);
  server = await serveHttp((req, res) => {
    asked.push(req.headers['if-none-match']);
    res.writeHead(answer.status).end(answer.body);
  });
  follower = followCatalog({
    catalogUrl: server.url,
    internalHeaders: () => ({}),
    toView: ({ version, models }) => ({ version, modelIds: models.map(({ id }) => id) }),
    log,
  });
});
afterAll(async () => {
  await follower.close();
  await server.close();
});

it('keeps the last good catalog through failures, nonsense and older versions, and takes the next newer one', async () => {
  await until('the first catalog', () => follower.current?.version === 3);
  for (const nonsense of [
    { status: 500, body: '' },
    { status: 200, body: '<html>' },
    { status: 200, body: '{"version":4,"region":"us","models":[{}]}' },
  ]) {
    serve(3);
    answer = nonsense;
    await until('a question', () => asked.length >= 1);
    expect(follower.current?.version).toBe(3);
  }
  serve(2);
  await untilRead();
  expect(follower.current?.version).toBe(3);
  expect(asked[0]).toBe('"3"');
  serve(4);
  await until('the newer catalog', () => follower.current?.version === 4);
  expect(follower.current?.modelIds).toEqual([aCatalogModel().id]);
});

it('says once of each outage that the catalog cannot be read, whatever version ends it', async () => {
  serve(4);
  await untilRead();
  warned.mockClear();
  for (const outages of [1, 2]) {
    serve(4, 500);
    await untilRead();
    expect(warned).toHaveBeenCalledTimes(outages);
    serve(3);
    await untilRead();
  }
});
