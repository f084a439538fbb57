type Stored =
  | { type: 'string'; text: string }
  | { type: 'hash'; fields: Map<string, string> }
  | { type: 'set'; members: Set<string> };
type TypeName = Stored['type'];

interface Entry {
  stored: Stored;
  expiresAtMs: number | undefined;
}

/** The answer of a command: an array, a text, a whole number, or nothing. */
export type Reply = null | number | string | Reply[];

interface Change {
  at: number;
  key: string;
  before: Entry | undefined;
}

const EMPTY: Record<TypeName, () => Stored> = {
  string: () => ({ type: 'string', text: '' }),
  hash: () => ({ type: 'hash', fields: new Map() }),
  set: () => ({ type: 'set', members: new Set() }),
};

function copyOf({ stored, expiresAtMs }: Entry): Entry {
  if (stored.type === 'hash') return { stored: { ...stored, fields: new Map(stored.fields) }, expiresAtMs };
  if (stored.type === 'set') return { stored: { ...stored, members: new Set(stored.members) }, expiresAtMs };
  return { stored: { ...stored }, expiresAtMs };
}

/** Commands that a replica refuses. */
const WRITES = new Set(['DEL', 'SET', 'PEXPIRE', 'HSET', 'HINCRBY', 'HDEL', 'SADD', 'SREM']);

const isEmpty = (stored: Stored): boolean =>
  (stored.type === 'hash' && stored.fields.size === 0) || (stored.type === 'set' && stored.members.size === 0);

function toWhole(text: string): number {
  const number = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(number))
    throw new Error('ERR value is not an integer or out of range');
  return number;
}

/** The longest a tail of the file that was lost may be, ms. */
const REMEMBERED_MS = 2_000;

/**
 * The data of a Redis 7 and the commands that the product uses, with the replies of Redis. Changes of the last two seconds can
 * be undone, as if a file or a replica had lacked them. Changes of one instant are undone together.
 */
export class RedisData {
  #entries = new Map<string, Entry>();
  #changes: Change[] = [];
  /** Keys copied since `beginStep`. */
  readonly #touched = new Set<string>();
  #stepAt = 0;
  /** Wall clock, µs. */
  readonly #clockUs: () => number;
  replicationId: string;
  isReplica = false;

  constructor({ clockUs, replicationId }: { clockUs: () => number; replicationId: string }) {
    this.#clockUs = clockUs;
    this.replicationId = replicationId;
  }

  /** Begins a step, at an instant that only has to rise. */
  beginStep(at: number): void {
    this.#touched.clear();
    this.#stepAt = at;
    const old = this.#changes.findIndex((change) => change.at >= at - REMEMBERED_MS);
    if (old > 200) this.#changes.splice(0, old);
  }

  /** Copies the state of a replica that has not received anything after `at`. */
  copyUntil(at: number, options: { clockUs: () => number; replicationId: string }): RedisData {
    const copy = new RedisData(options);
    copy.#entries = new Map([...this.#entries].map(([key, entry]) => [key, copyOf(entry)]));
    copy.#changes = this.#changes.map((change) => ({ ...change, before: change.before && copyOf(change.before) }));
    copy.loseAfter(at);
    return copy;
  }

  loseAfter(at: number): void {
    for (let last = this.#changes.at(-1); last && last.at > at; last = this.#changes.at(-1)) {
      this.#changes.pop();
      if (last.before) this.#entries.set(last.key, last.before);
      else this.#entries.delete(last.key);
    }
    this.#changes = [];
  }

  clear(): void {
    this.#entries.clear();
    this.#changes = [];
  }

  #find<T extends TypeName>(key: string, type: T): Extract<Stored, { type: T }> | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry.expiresAtMs !== undefined && entry.expiresAtMs <= this.#clockUs() / 1_000) {
      this.#remember(key);
      this.#entries.delete(key);
      return undefined;
    }
    if (entry.stored.type !== type)
      throw new Error('WRONGTYPE Operation against a key holding the wrong kind of value');
    return entry.stored as Extract<Stored, { type: T }>;
  }

  #remember(key: string): void {
    if (this.#touched.has(key)) return;
    this.#touched.add(key);
    const entry = this.#entries.get(key);
    this.#changes.push({ at: this.#stepAt, key, before: entry && copyOf(entry) });
  }

  #make<T extends TypeName>(key: string, type: T): Extract<Stored, { type: T }> {
    const found = this.#find(key, type);
    this.#remember(key);
    if (found) return found;
    const stored = EMPTY[type]();
    this.#entries.set(key, { stored, expiresAtMs: undefined });
    return stored as Extract<Stored, { type: T }>;
  }

  #dropIfEmpty(key: string): void {
    const entry = this.#entries.get(key);
    if (entry && isEmpty(entry.stored)) this.#entries.delete(key);
  }

  #exists(key: string): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && (entry.expiresAtMs === undefined || entry.expiresAtMs > this.#clockUs() / 1_000);
  }

  readonly #commands: Record<string, (key: string, ...args: string[]) => Reply> = {
    TIME: () => {
      const us = this.#clockUs();
      return [String(Math.floor(us / 1e6)), String(us % 1e6)];
    },
    INFO: () =>
      `# Replication\r\nrole:${this.isReplica ? 'slave' : 'master'}\r\nconnected_slaves:0\r\nmaster_replid:${this.replicationId}\r\nmaster_repl_offset:0\r\n`,
    EXISTS: (key) => Number(this.#exists(key)),
    DEL: (...keys) => {
      const found = keys.filter((key) => this.#exists(key));
      for (const key of found) {
        this.#remember(key);
        this.#entries.delete(key);
      }
      return found.length;
    },
    GET: (key) => this.#find(key, 'string')?.text ?? null,
    SET: (key, text = '', ...options) => {
      if (options.includes('NX') && this.#exists(key)) return null;
      this.#remember(key);
      const lifeMs = options[0] === 'PX' ? toWhole(options[1] ?? '') : undefined;
      const expiresAtMs = lifeMs === undefined ? undefined : Math.floor(this.#clockUs() / 1_000) + lifeMs;
      this.#entries.set(key, { stored: { type: 'string', text }, expiresAtMs });
      return 'OK';
    },
    PEXPIRE: (key, life = '') => {
      if (!this.#exists(key)) return 0;
      this.#remember(key);
      const entry = this.#entries.get(key);
      const lifeMs = toWhole(life);
      if (entry) entry.expiresAtMs = Math.floor(this.#clockUs() / 1_000) + lifeMs;
      if (lifeMs <= 0) this.#entries.delete(key);
      return 1;
    },
    PTTL: (key) => {
      if (!this.#exists(key)) return -2;
      const at = this.#entries.get(key)?.expiresAtMs;
      return at === undefined ? -1 : Math.round(at - this.#clockUs() / 1_000);
    },
    HGET: (key, field = '') => this.#find(key, 'hash')?.fields.get(field) ?? null,
    HMGET: (key, ...fields) => {
      const hash = this.#find(key, 'hash');
      return fields.map((field) => hash?.fields.get(field) ?? null);
    },
    HEXISTS: (key, field = '') => Number(this.#find(key, 'hash')?.fields.has(field) ?? false),
    HLEN: (key) => this.#find(key, 'hash')?.fields.size ?? 0,
    HKEYS: (key) => [...(this.#find(key, 'hash')?.fields.keys() ?? [])],
    // All on one page, as Redis does with few fields.
    HSCAN: (key) => ['0', [...(this.#find(key, 'hash')?.fields ?? [])].flat()],
    // All on one page; the one pattern that the product asks for.
    SCAN: (_cursor, _match, pattern = '') => {
      const parts = pattern.split('*');
      const [head = '', tail = ''] = [parts[0], parts.at(-1)];
      return [
        '0',
        [...this.#entries.keys()].filter((key) => key.startsWith(head) && key.endsWith(tail) && this.#exists(key)),
      ];
    },
    // The checks read hashes after every script: a loop takes a fraction of what `flat` does.
    HGETALL: (key) => {
      const flat: string[] = [];
      for (const [field, text] of this.#find(key, 'hash')?.fields ?? []) flat.push(field, text);
      return flat;
    },
    HSET: (key, ...pairs) => {
      const { fields } = this.#make(key, 'hash');
      const before = fields.size;
      for (let at = 0; at < pairs.length; at += 2) fields.set(pairs[at] ?? '', pairs[at + 1] ?? '');
      return fields.size - before;
    },
    HINCRBY: (key, field = '', by = '') => {
      const step = toWhole(by);
      const { fields } = this.#make(key, 'hash');
      const sum = toWhole(String(toWhole(fields.get(field) ?? '0') + step));
      fields.set(field, String(sum));
      return sum;
    },
    HDEL: (key, ...fields) => {
      const hash = this.#find(key, 'hash');
      if (!hash) return 0;
      this.#remember(key);
      const gone = fields.filter((field) => hash.fields.delete(field)).length;
      this.#dropIfEmpty(key);
      return gone;
    },
    SADD: (key, ...members) => {
      const set = this.#make(key, 'set').members;
      const before = set.size;
      for (const member of members) set.add(member);
      return set.size - before;
    },
    SREM: (key, ...members) => {
      const set = this.#find(key, 'set');
      if (!set) return 0;
      this.#remember(key);
      const gone = members.filter((member) => set.members.delete(member)).length;
      this.#dropIfEmpty(key);
      return gone;
    },
    SCARD: (key) => this.#find(key, 'set')?.members.size ?? 0,
    SMEMBERS: (key) => [...(this.#find(key, 'set')?.members ?? [])],
  };

  /** Runs one command. Throws as Redis would answer with an error; also for a command that is not known here. */
  run(command: string, args: string[]): Reply {
    const known = this.#commands[command.toUpperCase()];
    if (!known) throw new Error(`ERR unknown command here: ${command}`);
    if (this.isReplica && WRITES.has(command.toUpperCase()))
      throw new Error("READONLY You can't write against a read only replica.");
    const [key = '', ...rest] = args;
    return known(key, ...rest);
  }
}
