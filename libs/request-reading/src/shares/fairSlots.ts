import { ApiError } from '@turnpike/public-api/apiError';
import type { KeyBoundFault } from '../faults/requestFault.ts';

/** The client has waited already. Work that ends at all has mostly ended by then. */
const RETRY_AFTER_SECONDS = 2;

export interface SlotLimits {
  /** Pieces of work under way in this process. */
  inAll: number;
  /** Slots of one workspace. */
  perWorkspace: number;
  /** Pieces of one key that wait for a slot. */
  waitingPerKey: number;
}

export interface FairSlotsOptions {
  /** The bound's name in the metric and the fault. */
  bound: KeyBoundFault['bound'];
  limits: SlotLimits;
  /** Whether work under way gives way to whoever has fewer, and is done anew in its turn. Else others wait until it ends. */
  givesWay: boolean;
  nowMs?: () => number;
}

/** Whose work it is. Workspaces share what there is, and the keys of a workspace what it has. */
export interface SlotOwner {
  workspaceId: string;
  keyId: string;
}

/** The right to one piece of work. */
export interface FairSlot {
  /** Aborted when the slot went to somebody who has fewer: what was begun under it has to end. */
  readonly signal: AbortSignal;
  /** The work goes on: of two pieces the one that has been silent for longer loses its slot. */
  heard(): void;
  giveBack(): void;
}

export interface FairSlots {
  /** A slot, at once or in turn. Throws `tooMany()` where the key has too many waiting, and what `signal` is aborted with. */
  take(owner: SlotOwner, signal: AbortSignal): Promise<FairSlot>;
  /** Whether a workspace has any slot. */
  has(workspaceId: string): boolean;
  /** The fault for a call whose own workspace has all the slots it may have. */
  tooMany(): ApiError<KeyBoundFault>;
}

interface Taken {
  owner: SlotOwner;
  lost: AbortController;
  heardAtMs: number;
}

interface Waiting {
  owner: SlotOwner;
  begin: () => void;
}

/** The slots of a workspace, by key; none of them is empty. */
interface Holding {
  size: number;
  keys: Map<string, Set<Taken>>;
}

/**
 * Slots for concurrent work, shared max-min fairly, first between workspaces and then between the keys of one. A free
 * slot goes to the owner with the fewest. If work gives way, an owner with two slots fewer than another takes one of
 * the other's slots at once.
 * Stuck work therefore holds a slot only until an owner with fewer slots needs it. Any of `inAll` workspaces can have a
 * slot at once, whatever the others do.
 */
export function createFairSlots({
  bound,
  limits: { inAll, perWorkspace, waitingPerKey },
  givesWay,
  nowMs = () => performance.now(),
}: FairSlotsOptions): FairSlots {
  /** Slots in use, by workspace. */
  const holdings = new Map<string, Holding>();
  let taken = 0;
  /** Waiting work by key, in the order of arrival. The key served last is the last entry. */
  const waiting = new Map<string, Waiting[]>();

  const sizeOfWorkspace = ({ workspaceId }: SlotOwner) => holdings.get(workspaceId)?.size ?? 0;
  const sizeOfKey = ({ workspaceId, keyId }: SlotOwner) => holdings.get(workspaceId)?.keys.get(keyId)?.size ?? 0;

  function add(slot: Taken): void {
    const { workspaceId, keyId } = slot.owner;
    const holding = holdings.get(workspaceId) ?? { size: 0, keys: new Map() };
    holdings.set(workspaceId, holding);
    holding.keys.set(keyId, (holding.keys.get(keyId) ?? new Set()).add(slot));
    holding.size += 1;
    taken += 1;
  }

  /** Whether the slot was still its owner's. */
  function remove(slot: Taken): boolean {
    const { workspaceId, keyId } = slot.owner;
    const holding = holdings.get(workspaceId);
    const ofKey = holding?.keys.get(keyId);
    if (!holding || !ofKey?.delete(slot)) return false;
    if (ofKey.size === 0) holding.keys.delete(keyId);
    holding.size -= 1;
    if (holding.size === 0) holdings.delete(workspaceId);
    taken -= 1;
    return true;
  }

  /** The slot that this owner may take: of the workspaces with the most, or of the keys with the most in its own. */
  function findLoser(owner: SlotOwner): Taken | undefined {
    const own = sizeOfWorkspace(owner);
    const most = own < perWorkspace ? findLargest(holdings.values(), ({ size }) => size, own + 1) : [];
    if (most.length > 0) return findQuietest(most.flatMap(({ keys }) => [...keys.values()]));
    const siblings = holdings.get(owner.workspaceId)?.keys.values() ?? [];
    return findQuietest(findLargest(siblings, ({ size }) => size, sizeOfKey(owner) + 1));
  }

  function begin(owner: SlotOwner): FairSlot {
    const slot: Taken = { owner, lost: new AbortController(), heardAtMs: nowMs() };
    add(slot);
    return {
      signal: slot.lost.signal,
      heard() {
        slot.heardAtMs = nowMs();
      },
      giveBack() {
        if (remove(slot)) serveNext();
      },
    };
  }

  /** Gives a slot that came free to the waiting key that has least. */
  function serveNext(): void {
    let next: { line: Waiting[]; owner: SlotOwner; slots: [number, number] } | undefined;
    for (const line of waiting.values()) {
      const [first] = line;
      if (!first) continue;
      const { owner } = first;
      const slots: [number, number] = [sizeOfWorkspace(owner), sizeOfKey(owner)];
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

  function waitInLine(owner: SlotOwner, signal: AbortSignal): Promise<FairSlot> {
    const line = waiting.get(owner.keyId) ?? [];
    if (line.length >= waitingPerKey) throw tooMany();
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

  const tooMany = () =>
    new ApiError<KeyBoundFault>({ kind: 'key_bound_reached', bound, retryAfterSeconds: RETRY_AFTER_SECONDS });

  return {
    async take(owner, signal) {
      signal.throwIfAborted();
      if (taken < inAll && sizeOfWorkspace(owner) < perWorkspace) return begin(owner);
      const loser = givesWay ? findLoser(owner) : undefined;
      if (!loser) return waitInLine(owner, signal);
      remove(loser);
      loser.lost.abort(new Error('the slot went to another'));
      return begin(owner);
    },
    has: (workspaceId) => holdings.has(workspaceId),
    tooMany,
  };
}

/** The largest groups, all of one size, of those above `size`. */
function findLargest<Group>(groups: Iterable<Group>, sizeOf: (group: Group) => number, size: number): Group[] {
  let largest: Group[] = [];
  let most = size;
  for (const group of groups) {
    if (sizeOf(group) > most) {
      most = sizeOf(group);
      largest = [];
    }
    if (most > size && sizeOf(group) === most) largest.push(group);
  }
  return largest;
}

/** The slot whose work has been silent for longest. */
function findQuietest(groups: Iterable<Iterable<Taken>>): Taken | undefined {
  let quietest: Taken | undefined;
  for (const slots of groups)
    for (const slot of slots) if (!quietest || slot.heardAtMs < quietest.heardAtMs) quietest = slot;
  return quietest;
}
