import type { FuzzCase } from '../cases/fuzzCase.ts';
import type { Problem } from '../oracle/answer.ts';

/** A case that showed something wrong. */
export interface Finding {
  index: number;
  drawn: FuzzCase;
  problem: Problem;
}

/** Findings of one kind: the first of them, and how many there were. */
export interface FindingGroup extends Finding {
  count: number;
  /** The smallest case with the same problem; undefined where it did not come again. */
  smallest: FuzzCase | undefined;
}

/** The same for findings that differ in nothing but numbers and quoted texts. */
export const signatureOf = ({ kind, text }: Problem): string =>
  `${kind} ${text
    .replace(/"[^"]*"/g, '"…"')
    .replace(/\d+/g, '#')
    .slice(0, 120)}`;

/** Keeps the first finding of each kind, of so many kinds at most, and counts the others. */
export class FindingList {
  readonly #groups = new Map<string, Finding & { count: number }>();
  readonly #maxGroups: number;

  constructor({ maxGroups }: { maxGroups: number }) {
    this.#maxGroups = maxGroups;
  }

  add(finding: Finding): void {
    const signature = signatureOf(finding.problem);
    const known = this.#groups.get(signature);
    if (known) known.count += 1;
    else if (this.#groups.size < this.#maxGroups) this.#groups.set(signature, { ...finding, count: 1 });
  }

  get size(): number {
    return this.#groups.size;
  }

  list(): (Finding & { count: number })[] {
    return [...this.#groups.values()];
  }
}
