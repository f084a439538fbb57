import { parseArgs } from 'node:util';
import { FAULT_KINDS, type FaultKind, MOST_CALLS, type Protocol, SMALL, WORST } from './protocol.ts';
import { isRule, RULE_NAMES, type Rule, toRules, VARIANT_NAMES, type Variant } from './rules.ts';

/** The search of one command. */
export interface ModelOptions {
  /** The kinds of faults to be searched together; undefined for every pair in turn. */
  kinds: FaultKind[] | undefined;
  /** Rules taken away: none, some at once, or each in turn. */
  without: Rule[] | 'each';
  protocol: Omit<Protocol, 'kinds'>;
  mostStates: number;
}

export class WrongOption extends Error {}

/** Throws WrongOption, with a sentence for whoever typed the command. */
export function parseModelOptions(args: string[]): ModelOptions {
  const values = read(args);
  const calls = toNumber('calls', values.calls ?? `${SMALL.calls}`, { from: 1, to: MOST_CALLS });
  const charges = toList(values.charges ?? SMALL.charges.join()).map((charge) =>
    toNumber('charges', charge, { from: 0, to: WORST }),
  );
  const without = toList(values.without ?? '');
  const isEach = without.length === 1 && without[0] === 'each';
  const taken = isEach ? [] : toRuleNames('without', without);
  return {
    kinds: values.kinds === undefined ? undefined : toKinds(values.kinds),
    without: isEach ? 'each' : taken,
    mostStates: toNumber('most-states', values['most-states'] ?? '40000000', { from: 1, to: 2 ** 28 }),
    protocol: {
      rules: toRules(taken, toRuleNames('and', toList(values.and ?? ''))),
      variants: toVariants(values.variants ?? ''),
      calls,
      charges,
      credit: toNumber('credit', values.credit ?? `${SMALL.credit}`, { from: 0, to: 100 }),
      hasCredits: values.credits ?? false,
      faults: toNumber('faults', values.faults ?? `${SMALL.faults}`, { from: 0, to: 10 }),
      absorbs: toNumber('absorbs', values.absorbs ?? `${SMALL.absorbs}`, { from: 0, to: 2 }),
      isAbsorbSplit: values.split ?? false,
      isSafetyAlone: values.safety ?? false,
      isStrict: values.strict ?? false,
    },
  };
}

function read(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        model: { type: 'boolean' },
        calls: { type: 'string' },
        charges: { type: 'string' },
        credit: { type: 'string' },
        credits: { type: 'boolean' },
        faults: { type: 'string' },
        kinds: { type: 'string' },
        absorbs: { type: 'string' },
        split: { type: 'boolean' },
        without: { type: 'string' },
        and: { type: 'string' },
        variants: { type: 'string' },
        safety: { type: 'boolean' },
        strict: { type: 'boolean' },
        'most-states': { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw new WrongOption(error instanceof Error ? error.message : String(error));
  }
}

const toList = (text: string): string[] => text.split(',').filter((each) => each !== '');

function toNumber(option: string, text: string, { from, to }: { from: number; to: number }): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= from && value <= to))
    throw new WrongOption(`--${option} takes whole numbers from ${from} to ${to}, not '${text}'`);
  return value;
}

function toKinds(text: string): FaultKind[] {
  const kinds = toList(text);
  const isKind = (kind: string): kind is FaultKind => FAULT_KINDS.some((each) => each === kind);
  return kinds.map((kind) => {
    if (!isKind(kind)) throw new WrongOption(`--kinds takes some of ${FAULT_KINDS.join(', ')}, not '${kind}'`);
    return kind;
  });
}

function toVariants(text: string): Variant[] {
  if (text === 'all') return VARIANT_NAMES;
  const isVariant = (name: string): name is Variant => VARIANT_NAMES.some((each) => each === name);
  return toList(text).map((name) => {
    if (!isVariant(name))
      throw new WrongOption(`--variants takes all, or some of ${VARIANT_NAMES.join(', ')}, not '${name}'`);
    return name;
  });
}

function toRuleNames(option: string, names: string[]): Rule[] {
  return names.map((name) => {
    if (!isRule(name)) throw new WrongOption(`--${option} takes some of ${RULE_NAMES.join(', ')}, not '${name}'`);
    return name;
  });
}
