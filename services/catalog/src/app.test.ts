import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateApiKey } from '@turnpike/api-keys/apiKey';
import { modelsConsoleApi } from '@turnpike/console-api/console/models';
import { catalogSnapshotSchema } from '@turnpike/internal-api/catalogSnapshot';
import { CLIENT_ADDRESS_HEADER, signClientAddress } from '@turnpike/internal-auth/clientAddress';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { until } from '@turnpike/test-support/until';
import { aCatalogModel } from '../test/aCatalogModel.ts';
import {
  fleet,
  internalHeadersFor,
  startTestAuth,
  startTestRouter,
  type TestAuth,
  type TestRouter,
} from '../test/startNeighbours.ts';
import { getAs, KEYS_PAGE_URL, startTestService, type TestService } from '../test/startTestService.ts';

const free = {
  prompt: '0',
  completion: '0.0',
  input_cache_read: '0',
  request: '0',
  image: '0',
  web_search: '0',
  internal_reasoning: '0',
};
/** A model of images, which has a price for each. */
const media = {
  category: 'image' as const,
  outputModalities: ['image' as const],
  pricing: { ...free, completion: '0' },
  media: {
    billingUnit: 'image' as const,
    unitPrice: '0.0028',
    capabilities: { sizes: ['512x512'], outputFormats: ['png' as const], maxImages: 4 },
  },
};
const models = [
  aCatalogModel({ id: 'ready', aliases: ['r', 'also-ready'] }),
  aCatalogModel({ id: 'free', pricing: free }),
  aCatalogModel({ id: 'sick' }),
  aCatalogModel({ id: 'painter', ...media }),
  aCatalogModel({ id: 'unpriced', ...media, media: { ...media.media, unitPrice: null } }),
  aCatalogModel({ id: 'nowhere', aliases: ['nowhere-alias'] }),
  aCatalogModel({ id: 'absent' }),
  aCatalogModel({ id: 'disabled', state: 'disabled' }),
  aCatalogModel({ id: 'retired', state: 'retired', replacement: 'ready' }),
];
const live = {
  ready: { engines: 2, healthy: 1 },
  free: { engines: 1, healthy: 1 },
  sick: { engines: 2, healthy: 0 },
  nowhere: { engines: 0, healthy: 0 },
  disabled: { engines: 1, healthy: 1 },
  retired: { engines: 1, healthy: 1 },
  'not-in-the-catalog': { engines: 1, healthy: 1 },
};
const liveMedia = { painter: { engines: 1, healthy: 1 }, unpriced: { engines: 1, healthy: 1 } };
const readyBody = {
  id: 'ready',
  object: 'model',
  created: 1_737_849_600,
  owned_by: 'turnpike',
  hugging_face_id: 'example/Small-Chat',
  aliases: ['r', 'also-ready'],
  name: 'Small Chat',
  category: 'text',
  input_modalities: ['text'],
  output_modalities: ['text'],
  quantization: 'int4',
  context_length: 8_192,
  max_output_length: 4_096,
  pricing: {
    prompt: '0.00000025',
    completion: '0.0000005',
    input_cache_read: '0.0000000025',
    request: '0',
    image: '0',
    web_search: '0',
    internal_reasoning: '0',
  },
  is_free: false,
  is_ready: true,
  supported_features: ['tools', 'tool_use'],
  supported_parameters: ['max_tokens', 'temperature'],
  supported_sampling_parameters: ['temperature'],
  supported_endpoints: ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/completions'],
};
/** Fields of a media model beside the seven prices. The zeros in those prices do not make the model free. */
const painter = {
  category: 'image',
  output_modalities: ['image'],
  pricing: media.pricing,
  billing_unit: 'image',
  unit_price: '0.0028',
  supported_endpoints: undefined,
  capabilities: { sizes: ['512x512'], output_formats: ['png'], max_images: 4 },
  is_free: false,
};
const notFoundBody = {
  error: {
    message: 'No such model here. GET /v1/models lists what this region serves.',
    type: 'invalid_request_error',
    param: 'model',
    code: 'model_not_found',
    did_you_mean: expect.any(Array),
  },
};

let auth: TestAuth;
let router: TestRouter;
let mediaJobs: TestRouter;
let service: TestService;
let caller: string;
beforeAll(async () => {
  [auth, router, mediaJobs] = await Promise.all([startTestAuth(), startTestRouter(), startTestRouter('media-jobs')]);
  router.setLive(live);
  mediaJobs.setLive(liveMedia);
  caller = auth.issueKey();
  service = await startTestService({ models, authUrl: auth.url, routerUrl: router.url, mediaUrl: mediaJobs.url });
  await until('media to be listed', async () => (await getAs(service, caller, '/v1/models/painter')).status === 200);
});
afterAll(() => {
  for (const server of [service, router, mediaJobs, auth]) server.close();
});

describe('GET /v1/models', () => {
  it('lists each live model with an engine in the region, in exactly the fields of a model entry', async () => {
    const { status, headers, body } = await getAs(service, caller, '/v1/models');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(body).toEqual({
      object: 'list',
      data: [
        readyBody,
        { ...readyBody, id: 'free', aliases: [], pricing: free, is_free: true },
        { ...readyBody, id: 'sick', aliases: [], is_ready: false },
        { ...readyBody, id: 'painter', aliases: [], ...painter },
        { ...readyBody, id: 'unpriced', aliases: [], ...painter, unit_price: null },
      ],
    });
  });

  it('has no parameters: the list is whole whatever is asked for', async () => {
    const whole = await getAs(service, caller, '/v1/models');
    const asked = await getAs(service, caller, '/v1/models?limit=1&after=ready&category=text');
    expect(asked).toMatchObject({ status: 200, body: whole.body });
  });

  it('follows the router’s view, keeps the last one while the router is away, and follows it again', async () => {
    const isListed = async (id: string): Promise<boolean> => {
      const { body } = await getAs(service, caller, '/v1/models');
      return (body as { data: { id: string }[] }).data.some((model) => model.id === id);
    };
    router.setLive({ ...live, absent: { engines: 1, healthy: 1 } });
    await until('the model to be listed', () => isListed('absent'));
    router.breakDown(true);
    router.setLive(live);
    expect(await isListed('absent')).toBe(true);
    router.breakDown(false);
    await until('the model to be gone from the list', async () => !(await isListed('absent')));
  });

  it('answers 429 of type rate_limit to a key that asks more often than one may, from whatever address', async () => {
    const strict = await startTestService({
      models,
      authUrl: auth.url,
      routerUrl: router.url,
      lookUpsPerSecond: 2,
      cacheTtlMs: 600_000,
    });
    try {
      const [flooding, other] = [auth.issueKey(), auth.issueKey()];
      const ask = (apiKey: string, nth: number) =>
        getAs(strict, apiKey, '/v1/models', {
          [CLIENT_ADDRESS_HEADER]: signClientAddress(`203.0.113.${nth}`, { key: fleet.keyOf('edge') }),
        });
      const answers = [];
      for (let nth = 0; nth < 5; nth += 1) answers.push(await ask(flooding, nth));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
      expect(answers.at(-1)?.headers.get('retry-after')).toBe('1');
      const error = { message: expect.any(String), type: 'rate_limit', doc_url: KEYS_PAGE_URL };
      expect(answers.at(-1)?.body).toEqual({ error });
      expect((await ask(other, 9)).status).toBe(200);
    } finally {
      strict.close();
    }
  });

  it.each([
    ['no key', undefined],
    ['a key never issued', generateApiKey()],
    ['a mistyped key', `${generateApiKey().slice(0, -1)}-`],
  ])('answers 401 of type auth without a code for %s', async (_what, apiKey) => {
    const { status, body } = await getAs(service, apiKey, '/v1/models');
    expect(status).toBe(401);
    expect(body).toEqual({ error: { message: expect.any(String), type: 'auth', doc_url: KEYS_PAGE_URL } });
  });

  it.each(['Basic c2s6', 'Bearer', 'sk-something'])(
    'answers 401 of type auth for "Authorization: %s"',
    async (authorization) => {
      const { status, body } = await getAs(service, undefined, '/v1/models', { authorization });
      expect(status).toBe(401);
      expect(body).toEqual({ error: { message: expect.any(String), type: 'auth', doc_url: KEYS_PAGE_URL } });
    },
  );

  it('answers 401 for an expired key', async () => {
    const expired = auth.issueKey({ expiresAt: new Date(Date.now() - 1_000).toISOString() });
    expect((await getAs(service, expired, '/v1/models')).status).toBe(401);
  });

  it.each([
    ['a key blocked by an administrator', { isBlocked: true }],
    [
      'a key of a workspace of the other region',
      {
        workspace: {
          workspaceId: 'ws_2',
          region: 'eu' as const,
          billingStatus: 'active' as const,
          monthlyCapNanoUsd: null,
        },
      },
    ],
  ])('answers 403 of type auth without a code for %s', async (_what, changes) => {
    const { status, headers, body } = await getAs(service, auth.issueKey(changes), '/v1/models');
    expect(status).toBe(403);
    expect(headers.get('x-should-retry')).toBe('false');
    expect(body).toEqual({ error: { message: expect.any(String), type: 'auth' } });
  });

  it('answers 502 with nothing but a detail while auth gives no verdict, and never lists unverified', async () => {
    auth.breakDown(true);
    const { status, body } = await getAs(service, auth.issueKey(), '/v1/models');
    auth.breakDown(false);
    expect(status).toBe(502);
    expect(body).toEqual({ detail: 'upstream router auth unavailable' });
  });

  it.each(['/v1/models', '/v1/models/ready'])(
    'answers 502 with nothing but a detail on %s when the router was never reached',
    async (path) => {
      const unheard = await startTestService({ models, authUrl: auth.url });
      const { status, body } = await getAs(unheard, caller, path);
      unheard.close();
      expect(status).toBe(502);
      expect(body).toEqual({ detail: 'upstream router unavailable' });
    },
  );

  it('has no other method', async () => {
    const response = await fetch(`${service.publicUrl}/v1/models`, { method: 'POST' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET');
  });
});

describe('GET /v1/models/{id}', () => {
  it.each(['ready', 'r', 'also-ready', 'r%65ady', 'also%2Dready', 'ready?unknown=1'])(
    'answers the entry that "%s" names',
    async (name) => {
      const { status, body } = await getAs(service, caller, `/v1/models/${name}`);
      expect(status).toBe(200);
      expect(body).toEqual(readyBody);
    },
  );

  it('answers the entry of a model none of whose engines is healthy', async () => {
    expect((await getAs(service, caller, '/v1/models/sick')).body).toMatchObject({ id: 'sick', is_ready: false });
  });

  it.each([
    'never-heard-of',
    'nowhere',
    'nowhere-alias',
    'absent',
    'disabled',
    'retired',
    'READY',
    'constructor',
    'a%2Fb',
    '%E0%A4%A',
  ])('answers the same 404 for %s', async (name) => {
    const { status, headers, body } = await getAs(service, caller, `/v1/models/${name}`);
    expect(status).toBe(404);
    expect(headers.get('x-should-retry')).toBe('false');
    expect(body).toEqual(notFoundBody);
  });

  it.each([
    ['READY', ['ready']],
    ['owner/reeady', ['ready']],
    ['disabled', []],
    ['something-else-entirely', []],
  ])('names the listed models that are like %s', async (name, ids) => {
    const { body } = await getAs(service, caller, `/v1/models/${name}`);
    expect(body).toEqual({ error: { ...notFoundBody.error, did_you_mean: ids } });
  });

  it('tells nothing without a key', async () => {
    expect((await getAs(service, undefined, '/v1/models/ready')).status).toBe(401);
  });
});

describe('GET /internal/catalog/versions/{version}', () => {
  async function get(version: string | number, signed?: Record<string, string>): Promise<Response> {
    const path = `/internal/catalog/versions/${version}`;
    const headers = signed ?? (await internalHeadersFor('catalog', `GET ${path}`));
    return fetch(service.internalUrl + path, { headers });
  }

  it('answers a version as it was in force', async () => {
    const inForce = await fetch(`${service.internalUrl}/internal/catalog`, {
      headers: await internalHeadersFor('catalog', 'GET /internal/catalog'),
    });
    const snapshot = catalogSnapshotSchema.parse(await inForce.json());
    const response = await get(snapshot.version);
    expect(catalogSnapshotSchema.parse(await response.json())).toEqual(snapshot);
  });

  it('answers 404 to a version that never was', async () => {
    expect((await get('999999')).status).toBe(404);
  });

  it.each(['0', '-1', '1.5', 'latest', '99999999999999'])('answers 400 to "%s", which is none', async (version) => {
    const response = await get(version);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'invalid_request', param: 'version' });
  });

  it('answers the fleet alone', async () => {
    expect((await get(1, {})).status).toBe(401);
  });
});

describe('GET /internal/catalog', () => {
  const get = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${service.internalUrl}/internal/catalog`, { headers });

  it('answers the whole snapshot with its version as a tag, and 304 to who has that version', async () => {
    const headers = await internalHeadersFor('catalog', 'GET /internal/catalog');
    const response = await get(headers);
    const snapshot = catalogSnapshotSchema.parse(await response.json());
    expect(snapshot).toMatchObject({ region: 'us', models });
    expect(response.headers.get('etag')).toBe(`"${snapshot.version}"`);

    const unchanged = await get({ ...headers, 'if-none-match': `"${snapshot.version}"` });
    expect(unchanged.status).toBe(304);
    expect(await unchanged.text()).toBe('');
  });

  it('answers the next version to who has the one before', async () => {
    const headers = await internalHeadersFor('catalog', 'GET /internal/catalog');
    const tag = (await get(headers)).headers.get('etag') ?? '';
    service.apply([...models]);
    const response = await get({ ...headers, 'if-none-match': tag });
    expect(response.status).toBe(200);
    expect(response.headers.get('etag')).not.toBe(tag);
  });

  it('answers 401 without a token, and with one for another service', async () => {
    for (const headers of [{}, await internalHeadersFor('auth', 'GET /internal/catalog')])
      expect((await get(headers)).status).toBe(401);
  });

  it.each(['/health', '/ready'])('has %s beside it, for anyone', async (path) => {
    expect((await fetch(`${service.internalUrl}${path}`)).status).toBe(200);
  });

  it('is not reachable where clients are, nor the model list where the fleet is', async () => {
    const headers = await internalHeadersFor('catalog', 'GET /internal/catalog');
    expect((await fetch(`${service.publicUrl}/internal/catalog`, { headers })).status).toBe(404);
    expect((await fetch(`${service.internalUrl}/v1/models`, { headers })).status).toBe(404);
  });
});

describe('GET /console/models', () => {
  async function get(from: TestService, signer = 'edge') {
    const headers = await createTokenIssuer({ key: fleet.keyOf(signer) })('catalog', 'GET /console/models');
    return fetch(`${from.internalUrl}/console/models`, { headers });
  }

  it('answers the entries of GET /v1/models to the edge without a caller, for 10 s in any cache', async () => {
    const response = await get(service);
    const { models: listed } = (await response.json()) as { models: unknown[] };
    const { body } = await getAs(service, auth.issueKey(), '/v1/models');
    expect(response.headers.get('cache-control')).toBe('public, max-age=10');
    expect(listed.length).toBeGreaterThan(3);
    expect({ object: 'list', data: listed }).toEqual(body);
    expect(modelsConsoleApi.routes.listModels.answer.parse({ models: listed })).toEqual({ models: listed });
  });

  it('serves the edge alone, on the internal listener alone', async () => {
    for (const signer of ['auth', 'operator']) expect((await get(service, signer)).status).toBe(403);
    expect((await fetch(`${service.internalUrl}/console/models`)).status).toBe(401);
    expect((await getAs(service, auth.issueKey(), '/console/models')).status).toBe(404);
  });

  it('answers 503, which no cache keeps, when the router was never reached', async () => {
    const unheard = await startTestService({ models, authUrl: auth.url });
    const response = await get(unheard);
    await unheard.close();
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(response.headers.has('cache-control')).toBe(false);
    expect(await response.json()).toMatchObject({ error: 'router_unreachable' });
  });
});
