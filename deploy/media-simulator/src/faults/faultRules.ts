import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ROUTES, type Route } from '../wire/routes.ts';
import { canStrike, type Fault, faultKindSchema } from './fault.ts';

/** `POST /admin/faults` takes a list of these; they are added to those already there. */
export const faultRulesSchema = z.array(
  z
    .strictObject({
      /** All of what is named has to match; nothing named matches every request that the fault can strike. */
      match: z
        .strictObject({
          route: z.enum(ROUTES).optional(),
          /** The model of the replica, so that one list can be given to several. */
          model: z.string().optional(),
          /** Only this one of the requests that otherwise match, the first being 1. */
          nth: z.int().min(1).optional(),
          /** Every so many of them, that one first. */
          everyNth: z.int().min(1).default(1),
          /** So many of them by chance, which a rule with the same seed decides alike. */
          probability: z.number().min(0).max(1).default(1),
        })
        .prefault({}),
      fault: faultKindSchema,
      /** How often it strikes: 1 is once, null for as long as the rule is there. */
      times: z.int().min(1).nullable().default(null),
      afterBytes: z.int().min(0).default(100),
      byteMs: z.number().min(0).default(1_000),
      seed: z.string().default(''),
    })
    .refine(({ match, fault }) => match.route === undefined || canStrike(fault, match.route), {
      path: ['fault'],
      message: 'cannot strike this route',
    }),
);
type FaultRule = z.output<typeof faultRulesSchema>[number];

/** The faults that whoever scripts the replica has asked for; the first rule that matches strikes. */
export class FaultRules {
  #rules: { rule: FaultRule; matched: number; struck: number }[] = [];

  add(rules: readonly FaultRule[]): void {
    this.#rules.push(...rules.map((rule) => ({ rule, matched: 0, struck: 0 })));
  }

  clear(): void {
    this.#rules = [];
  }

  /** Each rule with how many requests it matched and how many it struck. */
  list(): object[] {
    return this.#rules.map(({ rule, matched, struck }) => ({ ...rule, matched, struck }));
  }

  /** The fault that strikes a request, if one does. */
  take(route: Route, model: string): Fault | undefined {
    for (const entry of this.#rules) {
      const { match, fault, times, afterBytes, byteMs, seed } = entry.rule;
      if (!canStrike(fault, route) || (match.route ?? route) !== route || (match.model ?? model) !== model) continue;
      if (times !== null && entry.struck >= times) continue;
      entry.matched += 1;
      if (match.nth !== undefined && entry.matched !== match.nth) continue;
      if (entry.matched % match.everyNth !== 0) continue;
      if (draw(`${seed} ${entry.matched}`) >= match.probability) continue;
      entry.struck += 1;
      return { kind: fault, afterBytes, byteMs };
    }
    return undefined;
  }
}

/** From 0 up to 1, always the same for a text. */
const draw = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
