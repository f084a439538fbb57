import { parseArgs } from 'node:util';
import type { Command } from './command.ts';
import { UsageError } from './operatorError.ts';

export type CommandLine =
  /** Show how commands are used: one, a group such as `keys`, or all. */
  | { kind: 'help'; commands: Command[] }
  | {
      kind: 'run';
      command: Command;
      input: unknown;
      isJson: boolean;
      stack: string | undefined;
      region: string | undefined;
    };

/** Reads a command line. Throws a `UsageError` for whatever is not one. */
export function parseCommandLine(args: string[], commands: Command[]): CommandLine {
  const wantsHelp = args.includes('--help') || args.includes('-h');
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const words = firstOption === -1 ? args : args.slice(0, firstOption);
  // Of "engines" and "engines drain" the longer one is meant.
  const [command] = commands
    .filter((candidate) => startsWith(words, candidate.words.split(' ')))
    .toSorted((a, b) => b.words.length - a.words.length);
  if (command) return wantsHelp ? { kind: 'help', commands: [command] } : parseOptions(args, command);

  const [first] = words;
  const group = commands.filter((candidate) => candidate.words.split(' ')[0] === first);
  if (wantsHelp) return { kind: 'help', commands: group.length > 0 ? group : commands };
  if (first === undefined) throw new UsageError('Start with a command: "turnpike --help" lists them.');
  if (group.length === 0) throw new UsageError(`"${first}" is not a command: "turnpike --help" lists them.`);
  const followers = group.map((candidate) => candidate.words.slice(first.length + 1));
  throw new UsageError(`"${first}" is followed by one of: ${followers.join(', ')}.`);
}

const startsWith = (words: string[], beginning: string[]): boolean =>
  beginning.every((word, index) => words[index] === word);

function parseOptions(args: string[], command: Command): CommandLine {
  const { values, positionals } = parseStrictly(args.slice(command.words.split(' ').length), command);
  const operands = Object.entries(command.operands);
  const extra = positionals[operands.length];
  if (extra !== undefined) throw wrongUse(command, `"${extra}" is one word too many`);
  const { json, stack, region, ...options } = values;
  const input = { ...options, ...Object.fromEntries(operands.map(([field], index) => [field, positionals[index]])) };
  checkInput(input, command);
  const isText = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return { kind: 'run', command, input, isJson: json === true, stack: isText(stack), region: isText(region) };
}

function parseStrictly(args: string[], command: Command) {
  const options = Object.entries(command.options).map(([name, { value }]) => {
    return [name, { type: value === undefined ? ('boolean' as const) : ('string' as const) }] as const;
  });
  try {
    return parseArgs({
      args,
      options: {
        json: { type: 'boolean' },
        stack: { type: 'string' },
        region: { type: 'string' },
        ...Object.fromEntries(options),
      },
      allowPositionals: true,
    });
  } catch (error) {
    // "Unknown option '--x'. To specify …": the first sentence says it.
    const [problem = ''] = (error as Error).message.split('. ');
    throw wrongUse(command, problem);
  }
}

function checkInput(input: Record<string, unknown>, command: Command): void {
  const result = command.input.safeParse(input);
  if (result.success) return;
  const [issue] = result.error.issues;
  const field = String(issue?.path[0] ?? '');
  const name = command.operands[field] ?? `--${field}`;
  if (field === '') throw wrongUse(command, issue?.message ?? '');
  throw wrongUse(command, input[field] === undefined ? `${name} is missing` : `${name} ${issue?.message}`);
}

const wrongUse = (command: Command, problem: string): UsageError =>
  new UsageError(`turnpike ${command.words}: ${problem}. "turnpike ${command.words} --help" says how to use it.`);
