import { formatTable } from '../report/formatTable.ts';
import { COMMON_OPTIONS, type Command, type Option } from './command.ts';

/** How one command is used, or what several do. */
export function formatHelp(commands: Command[], heading: (text: string) => string): string {
  const [command] = commands;
  return commands.length === 1 && command ? formatOne(command, heading) : formatAll(commands, heading);
}

function formatAll(commands: Command[], heading: (text: string) => string): string {
  return [
    heading('turnpike: what operators do to a stack that runs'),
    formatTable(commands.map((command) => [toSynopsis(command, { isShort: true }), command.summary])),
    '',
    '"turnpike" stands for "npm run -s turnpike --", here and in what the commands say.',
    'Every command takes --json, --stack PORT, --region NAME and --help. "turnpike --version" says which release this is.',
    'The stack is the one that --stack names, else PORT_BASE, else the one that these variables name, else the only one',
    'that runs here; every change says which one it was made on:',
    '  TURNPIKE_AUTH_INTERNAL_URL, TURNPIKE_CATALOG_INTERNAL_URL, TURNPIKE_ROUTER_INTERNAL_URL,',
    '  TURNPIKE_LEDGER_INTERNAL_URL, TURNPIKE_MEDIA_INTERNAL_URL, TURNPIKE_REGION and INTERNAL_SIGNING_KEY.',
    'TURNPIKE_EDGE_URL and TURNPIKE_EDGE_INTERNAL_URL beside these let "turnpike status" look at the edge as well.',
    'Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 of "turnpike status": all work, and something wants a look.',
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
