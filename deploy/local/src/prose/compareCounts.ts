import type { FaultKind, ProseFault } from './findProseFaults.ts';

export type LocatedFault = ProseFault & { path: string };

/** Faults by kind and room; a room without any is left out. */
export type Counts = Record<FaultKind, Record<string, number>>;

const MAX_SHOWN = 10;
const ADVICE: Record<FaultKind, string> = {
  openers: 'begin a comment with its verb or noun',
  longInComments: 'a sentence of a comment has 25 words at most',
  longInPages: 'a sentence of a page has 25 words at most',
};

/** The first two segments of a path, of a source without its file: `services/edge`, `test`, `docs/clients.md`. */
function roomOf({ path, kind }: LocatedFault): string {
  const segments = path.split('/');
  return segments.slice(0, kind === 'longInPages' ? 2 : Math.min(2, segments.length - 1)).join('/');
}

export function countFaults(faults: LocatedFault[]): Counts {
  const counts: Counts = { openers: {}, longInComments: {}, longInPages: {} };
  for (const fault of faults.toSorted((a, b) => (roomOf(a) < roomOf(b) ? -1 : 1))) {
    const rooms = counts[fault.kind];
    rooms[roomOf(fault)] = (rooms[roomOf(fault)] ?? 0) + 1;
  }
  return counts;
}

/**
 * Compares counts with those of the file. A count that rose gives a complaint with the faults of its room, newest file first,
 * because the one that is too many is there. A count that fell gives its room.
 */
export function compareCounts(
  counts: Counts,
  limits: Counts,
  faults: LocatedFault[],
  changedAt: (path: string) => number,
): { risen: string[]; fallen: string[] } {
  const risen: string[] = [];
  const fallen: string[] = [];
  for (const kind of Object.keys(ADVICE) as FaultKind[]) {
    for (const room of new Set([...Object.keys(limits[kind]), ...Object.keys(counts[kind])])) {
      const limit = limits[kind][room] ?? 0;
      const count = counts[kind][room] ?? 0;
      if (count < limit) fallen.push(`${kind} ${room} ${count} of ${limit}`);
      if (count <= limit) continue;
      const places = faults
        .filter((fault) => fault.kind === kind && roomOf(fault) === room)
        .toSorted((a, b) => changedAt(b.path) - changedAt(a.path))
        .slice(0, MAX_SHOWN)
        .map(({ path, line, text }) => `  ${path}:${line} ${text.slice(0, 100)}`);
      risen.push(
        `${room} has ${count} ${kind}, ${limit} are allowed: ${ADVICE[kind]}. Those of the newest files:`,
        ...places,
      );
    }
  }
  return { risen, fallen };
}
