import { COMMON_OPTIONS, type Command, type Option } from './command.ts';
import { UsageError } from './operatorError.ts';

export type CommandLine =
  /** Show how commands are used: one, a group such as `keys`, or all. */
  | { kind: 'help'; commands: Command[] }
  | { kind: 'version' }
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
  if (args[0] === '--version') return { kind: 'version' };
  const wantsHelp = args.includes('--help') || args.includes('-h') || args[0] === 'help';
  const said = args[0] === 'help' ? args.slice(1) : args;
  const firstOption = said.findIndex((arg) => arg.startsWith('-'));
  const words = firstOption === -1 ? said : said.slice(0, firstOption);
  // The longer command wins: "engines drain" over "engines".
  const [command] = commands
    .filter((candidate) => startsWith(words, candidate.words.split(' ')))
    .toSorted((a, b) => b.words.length - a.words.length);
  if (command) return wantsHelp ? { kind: 'help', commands: [command] } : parseOptions(args, command);

  const [first] = words;
  const group = commands.filter((candidate) => candidate.words.split(' ')[0] === first);
  if (wantsHelp) return { kind: 'help', commands: group.length > 0 ? group : commands };
  if (first === undefined) throw new UsageError('Start with a command: "turnpike --help" lists them.');
  if (group.length === 0)
    throw new UsageError(`"${first}" is not a command: ${suggest(first, commands)}"turnpike --help" lists them.`);
  const followers = group.map((candidate) => candidate.words.slice(first.length + 1));
  throw new UsageError(`"${first}" is followed by one of: ${followers.join(', ')}.`);
}

/** "workspace" is meant to be "workspaces", and "stats" to be "status". */
function suggest(word: string, commands: Command[]): string {
  const names = commands.map(({ words }) => words.split(' ')[0] ?? '');
  const near =
    names.find((name) => name.startsWith(word) || word.startsWith(name)) ??
    names.find((name) => isOneEditAway(name, word));
  return near === undefined ? '' : `did you mean "${near}"? `;
}

/** Whether one letter that is added, left out or changed makes one word the other. */
function isOneEditAway(one: string, other: string): boolean {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const [rest, otherRest] = [one.slice(same), other.slice(same)];
  return rest.slice(1) === otherRest || rest === otherRest.slice(1) || rest.slice(1) === otherRest.slice(1);
}

const startsWith = (words: string[], beginning: string[]): boolean =>
  beginning.every((word, index) => words[index] === word);

function parseOptions(args: string[], command: Command): CommandLine {
  const { values, words } = readArguments(args.slice(command.words.split(' ').length), command);
  const operands = Object.entries(command.operands);
  const extra = words[operands.length];
  if (extra !== undefined) throw wrongUse(command, `"${extra}" is one word too many`);
  const { json, stack, region, ...options } = values;
  const input = { ...options, ...Object.fromEntries(operands.map(([field], index) => [field, words[index]])) };
  checkInput(input, command);
  const toText = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return { kind: 'run', command, input, isJson: json === true, stack: toText(stack), region: toText(region) };
}

/** `parseArgs` of Node takes an amount below zero for an option, and is silent about an option given twice. */
function readArguments(args: string[], command: Command) {
  const options = { ...COMMON_OPTIONS, ...command.options };
  const values: Record<string, string | true> = {};
  const words: string[] = [];
  const rest = args.values();
  for (const arg of rest) {
    if (!/^--?[^\d.]/.test(arg)) {
      words.push(arg);
      continue;
    }
    const [, name = '', given] = /^--([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!option) throw wrongUse(command, `Unknown option '${arg.split('=')[0]}'`);
    if (values[name] !== undefined) throw wrongUse(command, `--${name} is given twice`);
    if (option.value === undefined && given !== undefined) throw wrongUse(command, `--${name} takes no value`);
    values[name] = option.value === undefined || (given ?? takeValue(rest, { name, option, command }));
  }
  return { values, words };
}

/** The argument behind an option. Another option there means that this one was left without. */
function takeValue(
  rest: Iterator<string>,
  { name, option, command }: { name: string; option: Option; command: Command },
): string {
  const { value } = rest.next();
  if (typeof value === 'string' && !value.startsWith('--')) return value;
  throw wrongUse(command, `--${name} lacks its value: --${name} ${option.value}`);
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
