import { randomUUID } from 'node:crypto';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import type { Region } from '@turnpike/config/region';
import { until } from '@turnpike/test-support/until';
import { untilMail } from '@turnpike/test-support/untilMail';

const TIMEOUT_MS = 15_000;
/** A model of text that all regions have. */
const MODEL = 'llama-3.1-8b-instruct';

/** The addresses of an account layer and of its regions, as a local stack and a cluster describe them. */
export interface AccountAddresses {
  services: { 'control-plane': { url: string } };
  account: { origin: string; mail_catcher_url: string };
  regions: Partial<Record<Region, { console_url: string; base_url: string }>>;
}

/** A user of the account layer, who sends what its pages send. */
export class AccountUser {
  readonly #addresses: AccountAddresses;
  readonly #cookie: string;

  private constructor(addresses: AccountAddresses, cookie: string) {
    this.#addresses = addresses;
    this.#cookie = cookie;
  }

  /** Signs a new user in by a mailed link. */
  static async signIn(addresses: AccountAddresses): Promise<AccountUser> {
    const address = `${randomUUID()}@example.com`;
    const visitor = new AccountUser(addresses, '');
    await visitor.#post('/account/sign-in/link', { address });
    const { text } = await untilMail(addresses.account.mail_catcher_url, { to: address });
    const signedIn = await visitor.#post('/account/sign-in/link/complete', { token: /#([\w-]{43})/.exec(text)?.[1] });
    const cookies = signedIn.headers.getSetCookie().map((line) => line.split(';')[0]);
    return new AccountUser(addresses, cookies.join('; '));
  }

  /** Makes an organization with a workspace in a region. The first workspace of a user has credit. */
  async makeWorkspace(region: Region): Promise<AccountWorkspace> {
    const path = `/account/organizations/${await this.makeOrganization()}/workspaces`;
    const id = await this.#create(path, { region, name: `Tests ${region}` }, 'workspace_id');
    const token = await this.#create(`${path}/${id}/console-token`, {}, 'token');
    return new AccountWorkspace(this.#addresses, { region, id, token, path: `${path}/${id}` });
  }

  /** Makes an organization and returns its id. */
  makeOrganization(): Promise<string> {
    return this.#create('/account/organizations', { name: 'Tests' }, 'organization_id');
  }

  /** Sends a request to the account layer. */
  send(method: string, path: string, body?: object): Promise<Response> {
    return fetch(this.#addresses.services['control-plane'].url + path, {
      method,
      headers: {
        'content-type': 'application/json',
        origin: this.#addresses.account.origin,
        'sec-fetch-site': 'same-origin',
        cookie: this.#cookie,
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  async #create(path: string, body: object, field: string): Promise<string> {
    const made = (await (await this.#post(path, body)).json()) as Record<string, string>;
    return made[field] ?? '';
  }

  async #post(path: string, body: object): Promise<Response> {
    const answer = await this.send('POST', path, body);
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer;
  }
}

/** A workspace of the account layer, as a page and a client use it in its region. */
export class AccountWorkspace {
  readonly id: string;
  readonly region: Region;
  /** The path of the workspace at the account layer. */
  readonly path: string;
  readonly #region: { console_url: string; base_url: string };
  readonly #origin: string;
  /** Valid for 5 minutes. */
  readonly #token: string;

  constructor(
    { regions, account }: AccountAddresses,
    { region, id, token, path }: { region: Region; id: string; token: string; path: string },
  ) {
    const addresses = regions[region];
    if (!addresses) throw new Error(`region ${region} does not run`);
    this.id = id;
    this.region = region;
    this.path = path;
    this.#region = addresses;
    this.#origin = account.origin;
    this.#token = token;
  }

  /** Sends a request to the console host of the region. One without a body reads. */
  ask(path: string, body?: object): Promise<Response> {
    return fetch(this.#region.console_url + path, {
      method: body ? 'POST' : 'GET',
      headers: {
        origin: this.#origin,
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
    const body = { key_sha256: toKeySha256(apiKey), last_four: apiKey.slice(-4), name: 'Tests' };
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
    return fetch(`${this.#region.base_url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  /** Resolves when the first credit is there, which may come some seconds after the workspace. */
  async untilCredit(apiKey: string): Promise<void> {
    await until(`the credit of the new workspace in ${this.region}`, async () => {
      const answer = await fetch(`${this.#region.base_url}/svc/credit`, {
        headers: { authorization: `Bearer ${apiKey}` },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (!answer.ok) throw new Error(`the credit was answered ${answer.status}: ${await answer.text()}`);
      return ((await answer.json()) as { credit_usd: number }).credit_usd > 0;
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
