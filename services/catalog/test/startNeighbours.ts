import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { signsAsCaller } from '@turnpike/internal-api/aCaller';
import type { KeyRecordBody } from '@turnpike/internal-api/keyRecord';
import { aKeyRecordBody } from '@turnpike/internal-api/keyRecord';
import type { LiveModels } from '@turnpike/internal-api/modelRouter';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { createTokenVerifier, INTERNAL_TOKEN_HEADER } from '@turnpike/internal-auth/internalToken';

/** The keys of the tests' stack. */
export const fleet = aFleet();

/** Signs calls of a test, each as a caller that its route declares. */
export const internalHeadersFor = signsAsCaller(fleet);

export interface Neighbour {
  url: string;
  /** Makes it answer so that nothing can be made of it. */
  breakDown(isBroken: boolean): void;
  close(): void;
}

export interface TestAuth extends Neighbour {
  /** A new valid key of this region, changed as the test wants. */
  issueKey(changes?: Partial<KeyRecordBody>): string;
}

export interface TestRouter extends Neighbour {
  setLive(models: LiveModels): void;
}

/** A stand-in for a neighbour's internal listener: takes only calls whose token is for `service`. */
async function startNeighbour(service: string, answer: (body: string) => object): Promise<Neighbour> {
  let isBroken = false;
  const verify = createTokenVerifier({ audience: `us/${service}`, keys: fleet.publicKeys });
  const listener: RequestListener = (req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    req.on('end', () => {
      void verify(req.headers[INTERNAL_TOKEN_HEADER], `${req.method} ${req.url}`).then((caller) => {
        res.statusCode = caller?.service === 'catalog' ? 200 : 401;
        res.end(isBroken ? '<html>' : JSON.stringify(answer(body)));
      });
    });
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    breakDown(value) {
      isBroken = value;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A stand-in for auth that knows the keys a test issued. */
export async function startTestAuth(): Promise<TestAuth> {
  const records = new Map<string, KeyRecordBody>();
  const neighbour = await startNeighbour('auth', (body) => ({ key: records.get(JSON.parse(body).key_sha256) ?? null }));
  return {
    ...neighbour,
    issueKey(changes = {}) {
      const apiKey = generateApiKey();
      const own = { keyId: `key_${records.size}`, lastFour: apiKey.slice(-4), rpm: 1, tpm: 1 };
      records.set(toKeySha256(apiKey), aKeyRecordBody({ ...own, ...changes }));
      return apiKey;
    },
  };
}

/** A stand-in for the router, or for media-jobs, that says which models are live. */
export async function startTestRouter(service: 'model-router' | 'media-jobs' = 'model-router'): Promise<TestRouter> {
  let models: LiveModels = {};
  const neighbour = await startNeighbour(service, () => ({ models }));
  return {
    ...neighbour,
    setLive(live) {
      models = live;
    },
  };
}
