import { formatTable } from '../report/formatTable.ts';
import type { Command, Option } from './command.ts';

const COMMON_OPTIONS: Record<string, Option> = {
  json: { help: 'print one JSON document instead of a table' },
  stack: { value: 'FILE', help: 'the stack.json of a local stack; the latest one that runs here if not given' },
  help: { help: 'show this' },
};

/** How one command is used, or what several do. */
export function formatHelp(commands: Command[], heading: (text: string) => string): string {
  const [command] = commands;
  return commands.length === 1 && command ? formatOne(command, heading) : formatAll(commands, heading);
}

function formatAll(commands: Command[], heading: (text: string) => string): string {
  return [
    heading('turnpike: runs a stack of the gateway'),
    formatTable(commands.map((command) => [toSynopsis(command, { isShort: true }), command.summary])),
    '',
    'Every command takes --json, --stack FILE and --help.',
    'The stack is the one that --stack names, else the one that these variables name, else the latest that runs here:',
    '  TURNPIKE_AUTH_INTERNAL_URL, TURNPIKE_CATALOG_INTERNAL_URL, TURNPIKE_ROUTER_INTERNAL_URL,',
    '  TURNPIKE_LEDGER_INTERNAL_URL and INTERNAL_TOKEN_KEYS.',
    'Exit codes: 0 done, 1 refused or failed, 2 wrong usage.',
  ].join('\n');
}

function formatOne(command: Command, heading: (text: string) => string): string {
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS });
  return [
    heading(`turnpike ${toSynopsis(command, { isShort: false })}`),
    `  ${command.summary}`,
    '',
    formatTable(options.map(([name, option]) => [toFlag(name, option), option.help])),
  ].join('\n');
}

/** `keys rotate KEY_ID [--grace TIME]`: what may be left out stands in brackets, or is left out where it has to be short. */
function toSynopsis({ words, operands, options, input }: Command, { isShort }: { isShort: boolean }): string {
  const required = new Set(input.safeParse({}).error?.issues.map(({ path }) => path[0]));
  const flags = Object.entries(options).flatMap(([name, option]) => {
    if (required.has(name)) return [toFlag(name, option)];
    return isShort ? [] : [`[${toFlag(name, option)}]`];
  });
  return [words, ...Object.values(operands), ...flags].join(' ');
}

const toFlag = (name: string, { value }: Option): string => (value === undefined ? `--${name}` : `--${name} ${value}`);
