import { randomUUID } from 'node:crypto';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import type { ClusterDescription } from '@turnpike/cluster/describeCluster';
import type { Region } from '@turnpike/config/region';
import { until } from '@turnpike/test-support/until';
import { untilMail } from '@turnpike/test-support/untilMail';

const TIMEOUT_MS = 15_000;
/** A model of text that all regions have. */
const MODEL = 'llama-3.1-8b-instruct';

/** A user of the account layer, who sends what its pages send. */
export class AccountUser {
  readonly #cluster: ClusterDescription;
  readonly #cookie: string;

  private constructor(cluster: ClusterDescription, cookie: string) {
    this.#cluster = cluster;
    this.#cookie = cookie;
  }

  /** Signs a new user in by a mailed link. */
  static async signIn(cluster: ClusterDescription): Promise<AccountUser> {
    const address = `${randomUUID()}@example.com`;
    const visitor = new AccountUser(cluster, '');
    await visitor.#post('/account/sign-in/link', { address });
    const { text } = await untilMail(cluster.account.mail_catcher_url, { to: address });
    const signedIn = await visitor.#post('/account/sign-in/link/complete', { token: /#([\w-]{43})/.exec(text)?.[1] });
    const cookies = signedIn.headers.getSetCookie().map((line) => line.split(';')[0]);
    return new AccountUser(cluster, cookies.join('; '));
  }

  /** Makes an organization with a workspace in a region. The first workspace of a user has credit. */
  async makeWorkspace(region: Region): Promise<AccountWorkspace> {
    const organizationId = await this.#create('/account/organizations', { name: 'Cluster' }, 'organization_id');
    const path = `/account/organizations/${organizationId}/workspaces`;
    const id = await this.#create(path, { region, name: `Cluster ${region}` }, 'workspace_id');
    const token = await this.#create(`${path}/${id}/console-token`, {}, 'token');
    return new AccountWorkspace(this.#cluster, { region, id, token });
  }

  async #create(path: string, body: object, field: string): Promise<string> {
    const made = (await (await this.#post(path, body)).json()) as Record<string, string>;
    return made[field] ?? '';
  }

  async #post(path: string, body: object): Promise<Response> {
    const answer = await fetch(this.#cluster.services['control-plane'].url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        origin: this.#cluster.account.origin,
        'sec-fetch-site': 'same-origin',
        cookie: this.#cookie,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer;
  }
}

/** A workspace of the account layer, as a page and a client use it in its region. */
export class AccountWorkspace {
  readonly id: string;
  readonly region: Region;
  readonly #cluster: ClusterDescription;
  /** Valid for 5 minutes. */
  readonly #token: string;

  constructor(cluster: ClusterDescription, { region, id, token }: { region: Region; id: string; token: string }) {
    this.id = id;
    this.region = region;
    this.#cluster = cluster;
    this.#token = token;
  }

  /** Sends a request to the console host of the region. One without a body reads. */
  ask(path: string, body?: object): Promise<Response> {
    return fetch(this.#cluster.regions[this.region].console_url + path, {
      method: body ? 'POST' : 'GET',
      headers: {
        origin: this.#cluster.account.origin,
        authorization: `Bearer ${this.#token}`,
        'content-type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  /** Makes a key at the console host, as soon as the region has the workspace from the feed. */
  async makeKey(): Promise<{ keyId: string; apiKey: string }> {
    const apiKey = generateApiKey();
    const body = { key_sha256: toKeySha256(apiKey), last_four: apiKey.slice(-4), name: 'Cluster' };
    const keyId = await until(`the workspace of the account layer in ${this.region}`, async () => {
      const answer = await this.ask('/console/keys', body);
      if (answer.status === 201) return ((await answer.json()) as { key_id: string }).key_id;
      const text = await answer.text();
      if (!text.includes('workspace_not_found')) throw new Error(`/console/keys answered ${answer.status}: ${text}`);
      return undefined;
    });
    return { keyId, apiKey };
  }

  /** Sends a chat to the region, as a client with this key does. */
  chat(apiKey: string): Promise<Response> {
    return fetch(`${this.#cluster.regions[this.region].base_url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  /** Repeats a chat until it is answered, because the first credit may come some seconds after the workspace. */
  untilChat(apiKey: string): Promise<Response> {
    return until(`a call of the new workspace in ${this.region}`, async () => {
      const answer = await this.chat(apiKey);
      if (answer.ok) return answer;
      const text = await answer.text();
      if (answer.status !== 402) throw new Error(`a chat was answered ${answer.status}: ${text}`);
      return undefined;
    });
  }
}
