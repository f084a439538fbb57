import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { draw, type RandomKey } from '../generation/counterRandom.ts';
import { DEFAULT_FAULT_AFTER_TOKENS, type Fault, faultKindSchema } from './fault.ts';

/** `POST /admin/faults` takes a list of these; they are added to those already there. */
export const faultRulesSchema = z.array(
  z.strictObject({
    /** All of what is named has to match; nothing named matches every request. */
    match: z
      .strictObject({
        /** The engine's first served name. */
        model: z.string().optional(),
        /** The engine's port: one replica among several of a model. */
        port: z.int().optional(),
        /** Every Nth of the requests that otherwise match, the Nth first. */
        everyNth: z.int().min(1).optional(),
        /** Part of them, chosen the same way in every run. */
        probability: z.number().min(0).max(1).optional(),
        /** Request headers with exactly these values. */
        header: z.record(z.string().toLowerCase(), z.string()).optional(),
      })
      .default({}),
    fault: faultKindSchema,
    after: z.int().min(0).default(DEFAULT_FAULT_AFTER_TOKENS),
    /** How long a delay lasts; for ever if absent. */
    forMs: z.int().min(0).max(3_600_000).optional(),
    /** Removed after it struck once. */
    once: z.boolean().default(false),
  }),
);
export type FaultRule = z.output<typeof faultRulesSchema>[number];

const MAX_RULES = 1_000;
const CHANCE_KEY: RandomKey = { low: 0x13198a2e, high: 0x03707344 };

/** The faults that whoever scripts the engines has asked for, first rule first. */
export class FaultRules {
  #rules: { rule: FaultRule; matches: number }[] = [];

  /** Adds rules; of more than a thousand the oldest go. */
  add(rules: readonly FaultRule[]): void {
    this.#rules = [...this.#rules, ...rules.map((rule) => ({ rule, matches: 0 }))].slice(-MAX_RULES);
  }

  clear(): void {
    this.#rules = [];
  }

  list(): FaultRule[] {
    return this.#rules.map(({ rule }) => rule);
  }

  /** The fault that strikes a request, if one does; a rule for one request is used up by it. */
  take({ model, port }: { model: string; port: number }, headers: IncomingHttpHeaders): Fault | undefined {
    for (const entry of this.#rules) {
      const { match, fault, after, forMs, once } = entry.rule;
      if (match.model !== undefined && match.model !== model) continue;
      if (match.port !== undefined && match.port !== port) continue;
      if (!Object.entries(match.header ?? {}).every(([name, value]) => headers[name] === value)) continue;
      entry.matches += 1;
      if (entry.matches % (match.everyNth ?? 1) !== 0) continue;
      if (draw(CHANCE_KEY, entry.matches) >= (match.probability ?? 1) * 2 ** 32) continue;
      if (once) this.#rules = this.#rules.filter((other) => other !== entry);
      return { kind: fault, afterTokens: after, forMs };
    }
    return undefined;
  }
}
