import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

interface Entry {
  payload: AdapterPayload;
  /** Milliseconds since 1970. */
  endsAt: number;
}

/** Makes a store in memory for sessions, codes, tokens and grants. An entry is removed when it is read after its end. */
export function createMemoryAdapter(): AdapterFactory {
  const entries = new Map<string, Entry>();

  function read(key: string): AdapterPayload | undefined {
    const entry = entries.get(key);
    if (entry === undefined || entry.endsAt > Date.now()) return entry?.payload;
    entries.delete(key);
    return undefined;
  }

  function find(model: string, matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined {
    const keys = Array.from(entries.keys()).filter((key) => key.startsWith(`${model}:`));
    return keys.map(read).find((payload) => payload !== undefined && matches(payload));
  }

  return (model): Adapter => ({
    async upsert(id, payload, expiresInSeconds) {
      entries.set(`${model}:${id}`, { payload, endsAt: Date.now() + (expiresInSeconds ?? Infinity) * 1_000 });
    },
    find: async (id) => read(`${model}:${id}`),
    findByUid: async (uid) => find(model, (payload) => payload.uid === uid),
    findByUserCode: async (userCode) => find(model, (payload) => payload.userCode === userCode),
    async consume(id) {
      const payload = read(`${model}:${id}`);
      if (payload) payload.consumed = Math.floor(Date.now() / 1_000);
    },
    async destroy(id) {
      entries.delete(`${model}:${id}`);
    },
    async revokeByGrantId(grantId) {
      for (const [key, { payload }] of entries)
        if (key.startsWith(`${model}:`) && payload.grantId === grantId) entries.delete(key);
    },
  });
}
