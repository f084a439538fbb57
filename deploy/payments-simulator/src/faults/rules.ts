import { createHash } from 'node:crypto';
import { z } from 'zod';

/** The part of a rule that says when it strikes. `of` is the name of a route or the type of an event, `*` every one. */
export const ruleShape = {
  match: z
    .strictObject({
      of: z.string().min(1).default('*'),
      /** Only this one of those that otherwise match, the first being 1. */
      nth: z.int().min(1).optional(),
      everyNth: z.int().min(1).default(1),
      probability: z.number().min(0).max(1).default(1),
    })
    .prefault({}),
  /** How often the rule strikes, null for as long as it is there. */
  times: z.int().min(1).nullable().default(null),
  seed: z.string().default(''),
};

interface Rule {
  match: { of: string; nth?: number | undefined; everyNth: number; probability: number };
  times: number | null;
  seed: string;
}

const MAX_RULES = 1_000;

/** The faults that the admin port asked for. */
export class Rules<T extends Rule> {
  #rules: { rule: T; matched: number; struck: number }[] = [];

  /** Throws if there are too many rules. */
  add(rules: readonly T[]): void {
    if (this.#rules.length + rules.length > MAX_RULES) throw new Error(`at most ${MAX_RULES} rules are kept`);
    this.#rules.push(...rules.map((rule) => ({ rule, matched: 0, struck: 0 })));
  }

  clear(): void {
    this.#rules = [];
  }

  /** Returns each rule with how often it matched and struck. */
  list(): object[] {
    return this.#rules.map(({ rule, matched, struck }) => ({ ...rule, matched, struck }));
  }

  /** Returns the rules that strike now, in their order. */
  take(name: string): T[] {
    return this.#rules.flatMap((entry) => {
      const { match, times, seed } = entry.rule;
      if (match.of !== '*' && match.of !== name) return [];
      if (times !== null && entry.struck >= times) return [];
      entry.matched += 1;
      if (match.nth !== undefined && entry.matched !== match.nth) return [];
      if (entry.matched % match.everyNth !== 0) return [];
      if (draw(`${seed} ${entry.matched}`) >= match.probability) return [];
      entry.struck += 1;
      return [entry.rule];
    });
  }
}

/** Returns a number from 0 up to 1, the same for the same text. */
export const draw = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
