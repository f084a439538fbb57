import { PLAYGROUND_KEY_NAME } from '@turnpike/console-api/console/keys';
import { queryClient, type Workspace } from '../account.ts';
import { makeApiKey } from '../apiKey.ts';
import { callConsole, keyRoutes } from '../console.ts';

const LIFETIME_MS = 10 * 60_000;
/** A key with less time than this left is replaced before a call. */
const SPARE_MS = 2 * 60_000;
/** The most that one key may spend: 1 dollar. */
const BUDGET_NANO_USD = '1000000000';

interface ShortKey {
  keyId: string;
  secret: string;
  endsAt: number;
}

/** The API key of an open playground, in memory alone. */
export class PlaygroundKey {
  readonly #workspace: Workspace;
  #current: ShortKey | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** Returns the secret of a key with time left, and makes that key if there is none. */
  async take(): Promise<string> {
    if (this.#current === undefined || this.#current.endsAt - Date.now() < SPARE_MS) {
      this.revoke();
      this.#current = await this.#make();
    }
    return this.#current.secret;
  }

  /** Revokes the key. One that cannot be revoked expires within minutes. */
  revoke(): void {
    const key = this.#current;
    this.#current = undefined;
    if (key) callConsole(this.#workspace, keyRoutes.revokeKey, { params: { key_id: key.keyId } }).catch(() => {});
  }

  async #make(): Promise<ShortKey> {
    const { secret, ...hash } = await makeApiKey();
    const endsAt = Date.now() + LIFETIME_MS;
    const { key_id: keyId } = await callConsole(this.#workspace, keyRoutes.createKey, {
      body: {
        ...hash,
        name: PLAYGROUND_KEY_NAME,
        max_budget_nano_usd: BUDGET_NANO_USD,
        expires_at: new Date(endsAt).toISOString(),
      },
    });
    await queryClient.invalidateQueries({ queryKey: ['keys', this.#workspace.workspaceId] });
    return { keyId, secret, endsAt };
  }
}
