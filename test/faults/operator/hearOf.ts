import { setTimeout as pause } from 'node:timers/promises';
import { runTurnpikeHere } from '../../support/runTurnpike.ts';
import type { CellContext } from '../cellContext.ts';
import { doesFire } from './doesFire.ts';
import { scrape } from './scrape.ts';
import { KINDS, type Trouble, type TroubledPart } from './trouble.ts';

/** The longest `turnpike status` may take. */
const STATUS_MS = 5_000;
const SEEN_WITHIN_MS = 5_000;
const WELL_WITHIN_MS = 40_000;
/** Between two readings of the metrics, by which they go on. */
const SCRAPES_APART_MS = 4_000;
/** The longest time until the metrics are as they stay. */
const SETTLED_WITHIN_MS = 20_000;
const TURN_MS = 200;

/** Puts a part in each kind of trouble, and checks that `turnpike status` names it in time, by exit code too, and that its alert fires. */
export async function hearOfTroubles(context: CellContext, row: TroubledPart): Promise<void> {
  await row.prepare?.(context);
  await untilWell(context, 'before');
  for (const kind of KINDS) {
    const trouble = row[kind];
    if (typeof trouble === 'string') context.notes.push(`${kind}: – (${trouble})`);
    else await hearOf(context, kind, trouble);
  }
}

async function hearOf(context: CellContext, kind: string, trouble: Trouble): Promise<void> {
  const { fault, named, code, alert } = trouble;
  const [service, words] = named;
  const strickenAt = performance.now();
  await fault.strike(context);
  let status = await askStatus(context);
  while (!names(status.text, service, words) && performance.now() - strickenAt < SEEN_WITHIN_MS + STATUS_MS) {
    await pause(TURN_MS);
    status = await askStatus(context);
  }
  const namedMs = performance.now() - strickenAt;
  const isNamed = names(status.text, service, words);
  context.check(
    isNamed,
    `${kind}: no status within ${namedMs.toFixed(0)} ms has "${words}" of ${service}, but:\n${status.text}`,
  );
  context.check(status.code === code, `${kind}: the exit code of status is ${status.code} in place of ${code}`);
  context.check(await firesSoon(context, alert), `${kind}: ${alert} does not fire`);
  await fault.repair(context);
  const wellMs = await untilWell(context, kind);
  const toSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  context.notes.push(
    `${kind}: ${isNamed ? `"${service}: ${words}"` : 'not named'} after ${toSeconds(namedMs)}, exit code ${status.code}, ${alert}; well again after ${toSeconds(wellMs)}`,
  );
}

async function firesSoon({ stack }: CellContext, alert: string): Promise<boolean> {
  const since = performance.now();
  let later = await scrape(stack);
  while (performance.now() - since < SETTLED_WITHIN_MS) {
    const earlier = later;
    await pause(SCRAPES_APART_MS);
    later = await scrape(stack);
    if (await doesFire(alert, earlier, later)) return true;
  }
  return false;
}

/** Whether a line of a status is of this service and says these words. */
const names = (status: string, service: string, words: string): boolean =>
  status.split('\n').some((line) => line.trim().startsWith(service) && line.includes(words));

async function askStatus(context: CellContext): Promise<{ text: string; code: number | null }> {
  const since = performance.now();
  const { stdout, stderr, code } = await runTurnpikeHere(['status'], context.stack);
  const tookMs = performance.now() - since;
  context.check(tookMs <= STATUS_MS, `status took ${tookMs.toFixed(0)} ms`);
  return { text: stdout + stderr, code };
}

async function untilWell(context: CellContext, when: string): Promise<number> {
  const since = performance.now();
  await context.until(
    `a status that is well (${when})`,
    async () => (await askStatus(context)).code === 0,
    WELL_WITHIN_MS,
  );
  return performance.now() - since;
}
