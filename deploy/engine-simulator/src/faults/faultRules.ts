import { z } from 'zod';
import { DEFAULT_FAULT_AFTER_TOKENS, type Fault, faultKindSchema } from './fault.ts';

/** `POST /admin/faults` takes a list of these; they are added to those already there. */
export const faultRulesSchema = z.array(
  z.strictObject({
    /** All of what is named has to match; nothing named matches every request. */
    match: z
      .strictObject({
        /** The engine's port: one replica among several of a model. */
        port: z.int().optional(),
        /** Every Nth of the requests that otherwise match, the Nth first. */
        everyNth: z.int().min(1).default(1),
      })
      .prefault({}),
    fault: faultKindSchema,
    after: z.int().min(0).default(DEFAULT_FAULT_AFTER_TOKENS),
  }),
);
export type FaultRule = z.output<typeof faultRulesSchema>[number];

const MAX_RULES = 1_000;

/** The faults that tests and scripts have set, first rule first. */
export class FaultRules {
  #rules: { rule: FaultRule; matches: number }[] = [];

  /** Adds rules; of more than a thousand the oldest go. */
  add(rules: readonly FaultRule[]): void {
    this.#rules = [...this.#rules, ...rules.map((rule) => ({ rule, matches: 0 }))].slice(-MAX_RULES);
  }

  clear(): void {
    this.#rules = [];
  }

  /** The fault that strikes a request to the engine on `port`, if one does. */
  take(port: number): Fault | undefined {
    for (const entry of this.#rules) {
      const { match, fault, after } = entry.rule;
      if (match.port !== undefined && match.port !== port) continue;
      entry.matches += 1;
      if (entry.matches % match.everyNth === 0) return { kind: fault, afterTokens: after };
    }
    return undefined;
  }
}
