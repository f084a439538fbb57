import { ApiError } from '@turnpike/api-errors/apiError';
import type { KeyBoundFault } from '../wire/chatFault.ts';

export interface FetchLimits {
  /** Fetches under way in this process: each is a socket, and memory for what it brings. */
  inAll: number;
  /** Of those, the ones of one workspace. */
  perWorkspace: number;
  /** Fetches of one key that wait for a slot. */
  waitingPerKey: number;
}

/** Whose fetch it is. Workspaces share what there is, and the keys of a workspace what it has. */
export interface FetchOwner {
  workspaceId: string;
  keyId: string;
}

/** The right to one fetch. */
export interface FetchSlot {
  /** Aborted when the slot went to somebody who has fewer: what was begun under it has to end. */
  readonly signal: AbortSignal;
  /** Bytes have come: of two fetches the one that has been silent for longer loses its slot. */
  heard(): void;
  giveBack(): void;
}

export interface FetchSlots {
  /**
   * A slot, at once or in turn. Throws `key_bound_reached` where the key has too many waiting, and what `signal` is aborted
   * with.
   */
  take(owner: FetchOwner, signal: AbortSignal): Promise<FetchSlot>;
  /** Whether a workspace has any slot. */
  has(workspaceId: string): boolean;
}

interface Taken {
  owner: FetchOwner;
  lost: AbortController;
  heardAtMs: number;
}

interface Waiting {
  owner: FetchOwner;
  begin: () => void;
}

/** How many slots each workspace and each key has. */
interface Counts {
  workspaces: Map<string, number>;
  keys: Map<string, number>;
}

/**
 * Slots for fetches under way, shared max-min fairly: whoever has fewer than another by two takes one of the other's, first
 * between workspaces and then between the keys of one. So addresses that hang hold a slot only as long as nobody with fewer
 * wants it, and one of `inAll` workspaces always has a slot at once, whatever the others do.
 */
export function createFetchSlots(
  { inAll, perWorkspace, waitingPerKey }: FetchLimits,
  nowMs = () => performance.now(),
): FetchSlots {
  const taken = new Set<Taken>();
  /** By key, each in the order they came. The key served last stands last. */
  const waiting = new Map<string, Waiting[]>();

  function count(): Counts {
    const counts: Counts = { workspaces: new Map(), keys: new Map() };
    for (const { owner } of taken) {
      addOne(counts.workspaces, owner.workspaceId);
      addOne(counts.keys, owner.keyId);
    }
    return counts;
  }

  /** The slot that this owner may take: of the workspace with the most, or of the key with the most in its own. */
  function findLoser({ workspaceId, keyId }: FetchOwner, { workspaces, keys }: Counts): Taken | undefined {
    const sizeOfWorkspace = ({ owner }: Taken) => workspaces.get(owner.workspaceId) ?? 0;
    const sizeOfKey = ({ owner }: Taken) => keys.get(owner.keyId) ?? 0;
    const own = workspaces.get(workspaceId) ?? 0;
    const most = findMost(taken, sizeOfWorkspace);
    if (own < perWorkspace && most && sizeOfWorkspace(most) > own + 1) return most;
    const siblings = [...taken].filter(({ owner }) => owner.workspaceId === workspaceId);
    const sibling = findMost(siblings, sizeOfKey);
    return sibling && sizeOfKey(sibling) > (keys.get(keyId) ?? 0) + 1 ? sibling : undefined;
  }

  function begin(owner: FetchOwner): FetchSlot {
    const slot: Taken = { owner, lost: new AbortController(), heardAtMs: nowMs() };
    taken.add(slot);
    return {
      signal: slot.lost.signal,
      heard() {
        slot.heardAtMs = nowMs();
      },
      giveBack() {
        if (taken.delete(slot)) serveNext();
      },
    };
  }

  /** Gives a slot that came free to the waiting key that has least. */
  function serveNext(): void {
    const { workspaces, keys } = count();
    let next: { line: Waiting[]; owner: FetchOwner; slots: [number, number] } | undefined;
    for (const line of waiting.values()) {
      const [first] = line;
      if (!first) continue;
      const { owner } = first;
      const slots: [number, number] = [workspaces.get(owner.workspaceId) ?? 0, keys.get(owner.keyId) ?? 0];
      if (slots[0] >= perWorkspace) continue;
      const isLess = !next || slots[0] < next.slots[0] || (slots[0] === next.slots[0] && slots[1] < next.slots[1]);
      if (isLess) next = { line, owner, slots };
    }
    if (!next) return;
    const { line, owner } = next;
    const first = line.shift();
    waiting.delete(owner.keyId);
    if (line.length > 0) waiting.set(owner.keyId, line);
    first?.begin();
  }

  function waitInLine(owner: FetchOwner, signal: AbortSignal): Promise<FetchSlot> {
    const line = waiting.get(owner.keyId) ?? [];
    if (line.length >= waitingPerKey) throw tooManyFetches();
    waiting.set(owner.keyId, line);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        line.splice(line.indexOf(entry), 1);
        if (line.length === 0) waiting.delete(owner.keyId);
        reject(signal.reason);
      };
      const entry: Waiting = {
        owner,
        begin() {
          signal.removeEventListener('abort', leave);
          resolve(begin(owner));
        },
      };
      line.push(entry);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  return {
    async take(owner, signal) {
      signal.throwIfAborted();
      const counts = count();
      if (taken.size < inAll && (counts.workspaces.get(owner.workspaceId) ?? 0) < perWorkspace) return begin(owner);
      const loser = findLoser(owner, counts);
      if (!loser) return waitInLine(owner, signal);
      taken.delete(loser);
      loser.lost.abort(new Error('the slot went to another'));
      return begin(owner);
    },
    has: (workspaceId) => [...taken].some(({ owner }) => owner.workspaceId === workspaceId),
  };
}

/** Of the largest group the slot whose fetch has been silent for longest. */
function findMost(slots: Iterable<Taken>, sizeOf: (slot: Taken) => number): Taken | undefined {
  let most: Taken | undefined;
  for (const slot of slots) {
    const difference = most ? sizeOf(slot) - sizeOf(most) : 1;
    if (!most || difference > 0 || (difference === 0 && slot.heardAtMs < most.heardAtMs)) most = slot;
  }
  return most;
}

const addOne = (counts: Map<string, number>, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1);
};

/** Soon enough for a workspace whose hosts answer; those that hang go with the call's time limit at the latest. */
const RETRY_AFTER_SECONDS = 2;

export const tooManyFetches = (): ApiError<KeyBoundFault> =>
  new ApiError({ kind: 'key_bound_reached', bound: 'image_fetches', retryAfterSeconds: RETRY_AFTER_SECONDS });
