import { Violation } from '../world/violation.ts';
import { excuseTheLate } from './checkWhileRunning.ts';
import type { Stack } from './stack.ts';

/** The ledger takes a router for dead after so long. */
const SILENT_MS = 3_000;
/** One transaction closes a gate and gives another Redis a mark, which is to open after 2 s instead of 3. */
const SOONER_MS = 1_000;

/** Looks at the ledger after every step, at what is committed. */
export interface LedgerWatch {
  look: () => void;
  /** Marks that Redises had. */
  marks: ReadonlySet<string>;
}

/**
 * Checks after each step that calls are admitted in one Redis at a time, and that a gate opens only when it may. A reader of the event log
 * may go back only together with the database.
 */
export function watchLedger(stack: Stack): LedgerWatch {
  const { world, database } = stack;
  const { tables } = database;
  const { redisServers, eventOffsets, routers } = tables;
  /** Each Redis with its mark, and the start of the wait for routers. */
  const raised = new Map<string, { mark: string; at: number }>();
  const openBefore = new Set<string>();
  const wasOpen = new Set<string>();
  const openRedis = new Set<string>();
  /** The time when a router last saw another open Redis, by mark. */
  const rivalSeenAt = new Map<string, number>();
  const offsets = new Map<string, bigint>();
  let { losses } = database;

  /** Asked after every step, and mostly false: then no router has to be looked at. */
  function isAnotherOpen(but: string): boolean {
    for (const { redisId, openedAt } of redisServers.values()) if (openedAt && redisId !== but) return true;
    return false;
  }

  /** Whether a router that is heard sees an open Redis other than this. */
  function seesOpen(but: string): boolean {
    if (!isAnotherOpen(but)) return false;
    const nowMs = world.beganAtMs + world.now;
    for (const router of routers.values()) {
      if (router.redisId === null || router.redisId === but || nowMs - router.heardAt > SILENT_MS) continue;
      if (tables.findServer(router.redisId)?.openedAt) return true;
    }
    return false;
  }

  /** From when a Redis with another mark waits for routers. Where nobody had put back under the one before, nothing was lost. */
  function raisedAt(before: { mark: string; at: number } | undefined, hasSuperseded: boolean): number {
    // Routers that held on to another Redis than the majority's have heard by then that theirs is closed.
    if (hasSuperseded) return world.now - SOONER_MS;
    const isUsed = before && (wasOpen.has(before.mark) || hasPutBack(before.mark));
    return before && !isUsed ? before.at : world.now;
  }

  const hasPutBack = (mark: string): boolean => [...routers.values()].some(({ putBackMark }) => putBackMark === mark);

  function lookAtGates(): void {
    const closed = [...redisServers.values()].filter(
      ({ redisId, openedAt }) => openedAt === null && openRedis.delete(redisId),
    );
    let open = 0;
    for (const { redisId, mark, openedAt } of redisServers.values()) {
      const before = raised.get(redisId);
      if (before?.mark !== mark) {
        const hasSuperseded = closed.some((other) => other.redisId !== redisId);
        raised.set(redisId, { mark, at: raisedAt(before, hasSuperseded) });
        world.note(`Redis ${redisId.slice(0, 4)} has mark ${mark.slice(-4)}`);
      }
      if (openedAt === null) {
        openBefore.delete(mark);
        if (redisServers.size > 1 && seesOpen(redisId)) rivalSeenAt.set(mark, world.now);
        continue;
      }
      open += 1;
      openRedis.add(redisId);
      if (openBefore.has(mark)) continue;
      openBefore.add(mark);
      wasOpen.add(mark);
      world.note(`the gate is open on Redis ${redisId.slice(0, 4)} under mark ${mark.slice(-4)}`);
      excuseTheLate(stack, {
        mark,
        raisedAt: raised.get(redisId)?.at ?? world.now,
        rivalSeenAt: rivalSeenAt.get(mark) ?? Number.NEGATIVE_INFINITY,
      });
    }
    if (open > 1) throw new Violation('one gate', `the gates are open on ${open} Redises`);
  }

  function lookAtOffsets(): void {
    if (losses !== database.losses) offsets.clear();
    ({ losses } = database);
    for (const [place, offset] of eventOffsets) {
      const before = offsets.get(place) ?? 0n;
      if (offset < before)
        throw new Violation('offsets', `the reader of ${place} went back from ${before} to ${offset}`);
      offsets.set(place, offset);
    }
  }

  return {
    marks: wasOpen,
    look() {
      if (database.isMidTransaction) return;
      lookAtGates();
      lookAtOffsets();
    },
  };
}
