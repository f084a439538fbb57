import { expect, it } from '@jest/globals';
import { COMMANDS } from './commands.ts';
import { UsageError } from './operatorError.ts';
import { parseCommandLine } from './parseCommandLine.ts';

const parse = (line: string) => parseCommandLine(line === '' ? [] : line.split(' '), COMMANDS);

it('takes operands, options and flags in any order after the command', () => {
  const lines = ['keys revoke key_a --yes --json', 'keys revoke --json --yes key_a'];
  for (const line of lines) {
    expect(parse(line)).toMatchObject({
      kind: 'run',
      command: { words: 'keys revoke' },
      input: { keyId: 'key_a', yes: true },
      isJson: true,
    });
  }
});

it.each([
  ['--rpm 1', { rpm: 1 }],
  ['--tpm=1000000000', { tpm: 1_000_000_000 }],
  ['--budget 9007199.254740991', { budget: 2n ** 53n - 1n }],
  ['--period-budget 1.5/week', { 'period-budget': { period: 'week', maxNanoUsd: 1_500_000_000n } }],
  ['--name=--odd', { name: '--odd' }],
])('takes %s, as the API does', (option, values) => {
  const line = parse(`keys create --workspace ws_a ${option}`);
  if (line.kind !== 'run') throw new Error('not a command to run');
  expect(line.command.input.parse(line.input)).toMatchObject(values);
});

it('takes a stack and a region for every command', () => {
  for (const line of ['engines --stack 9800 --region eu', 'credit add ws_a 5 --id c1 --region=eu --stack=9800'])
    expect(parse(line)).toMatchObject({ kind: 'run', stack: '9800', region: 'eu' });
});

it('takes no more of a key that is to be found than how it ends', () => {
  for (const key of ['5Oeo', 'sk-...5Oeo', `sk-${'a'.repeat(46)}5Oeo`]) {
    const line = parse(`keys find ${key}`);
    if (line.kind !== 'run') throw new Error('not a command to run');
    expect(line.command.input.parse(line.input)).toEqual({ lastFour: '5Oeo' });
  }
});

it.each([
  ['2099-01-31', '2099-01-31T00:00:00.000Z'],
  ['2099-01-31T12:00Z', '2099-01-31T12:00:00.000Z'],
  ['2099-01-31T12:00:30+02:00', '2099-01-31T10:00:30.000Z'],
])('takes %s for an instant', (text, instant) => {
  const line = parse(`keys create --workspace ws_a --expires ${text}`);
  if (line.kind !== 'run') throw new Error('not a command to run');
  expect(line.command.input.parse(line.input)).toMatchObject({ expires: new Date(instant) });
});

it.each([
  ['', 'Start with a command'],
  ['--json', 'Start with a command'],
  ['key list', '"key" is not a command: did you mean "keys"? "turnpike --help" lists them.'],
  ['credits add', '"credits" is not a command: did you mean "credit"?'],
  ['stats', '"stats" is not a command: did you mean "status"? "turnpike --help" lists them.'],
  ['frobnicate', '"frobnicate" is not a command: "turnpike --help" lists them.'],
  ['keys', '"keys" is followed by one of: create, list, find, show, update, rotate, end-old, block, unblock, revoke.'],
  ['keys drop key_a', '"keys" is followed by one of'],
  ['keys create', '--workspace is missing'],
  ['keys create --workspace acme', '--workspace must be an id'],
  ['keys create --workspace ws_a --budget 1e3', '--budget must be dollars'],
  ['keys create --workspace ws_a --budget 0.0000000001', '--budget must be dollars'],
  ['keys create --workspace ws_a --budget -5', '--budget must not be below zero'],
  ['keys create --workspace ws_a --budget 9007199.254740992', '--budget must be at most 9007199.254740991'],
  ['keys create --workspace ws_a --budget 8999999999', '--budget must be at most 9007199.254740991'],
  ['keys create --workspace ws_a --period-budget 5/year', 'must be dollars of a day, week or month'],
  ['keys create --workspace ws_a --period-budget 1e3/day', 'must be dollars in plain digits'],
  ['keys create --workspace ws_a --models Large', 'must be a model id'],
  ['keys create --workspace ws_a --rpm 0', '--rpm must be from 1 to 1000000000'],
  ['keys create --workspace ws_a --tpm 1000000001', '--tpm must be from 1 to 1000000000'],
  ['keys create --workspace ws_a --rpm 1.5', '--rpm must be a whole number'],
  ['keys create --workspace ws_a --rpm', '--rpm lacks its value: --rpm N'],
  ['keys create --workspace ws_a --name --rpm 5', '--name lacks its value: --name NAME'],
  ['keys create --workspace ws_a --workspace ws_b', '--workspace is given twice'],
  ['keys revoke key_a --yes=no', '--yes takes no value'],
  ['keys list --workspace ws_a -a', "Unknown option '-a'"],
  ['keys create --workspace ws_a --expires 2020-01-01', '--expires lies in the past'],
  ['keys create --workspace ws_a --expires tomorrow', '--expires must be a day or an instant'],
  ['keys list --workspace ws_a --all', "Unknown option '--all'"],
  ['keys find', 'KEY is missing'],
  ['keys find Oeo', 'KEY must end as the key does'],
  ['keys revoke', 'KEY_ID is missing'],
  ['keys revoke *', 'KEY_ID must be an id'],
  ['keys revoke key_*', 'KEY_ID must be an id'],
  ['keys block key_a key_b', '"key_b" is one word too many'],
  ['keys rotate key_a --grace 24', '--grace must be minutes, hours or days'],
  ['keys rotate key_a --grace 91d', '--grace must be at most 90d'],
  ['workspaces cap ws_a', 'USD|none is missing'],
  ['workspaces cap ws_a all', 'USD|none must be dollars'],
  ['workspaces cap ws_a 99999999', 'USD|none must be at most 9007199.254740991'],
  ['workspaces hold', 'WS is missing'],
  ['credit add ws_a 5', '--id is missing'],
  ['credit add ws_a 0 --id c1', 'USD must be more than nothing'],
  ['credit add ws_a -5 --id c1', 'USD must be more than nothing: "credit add" gives it, "credit take" takes it'],
  ['credit add ws_a 9007200 --id c1', 'USD must be at most 9007199.254740991'],
  ['workspaces create acme --name Acme', 'WS must be an id, as in ws_1a2b3c'],
  ['workspaces create ws_acme', '--name is missing'],
  ['credit take ws_a 0 --id c1', 'USD must be more than nothing'],
  ['models disable *', 'MODEL must be a model id'],
  ['usage', 'give --key or --workspace'],
  ['usage --key key_a --workspace ws_a', 'give --key or --workspace'],
  ['usage --key key_a --from 2026-02-02 --to 2026-02-01', '--from must not be after --to'],
  ['usage --key key_a --by model,colour', '--by must be day, key or model, or several of them'],
  ['usage --key key_a --from 2999-01-01', '--from must not be after --to, which is today'],
])('refuses "turnpike %s" and says what is wrong in one line', (line, problem) => {
  expect(() => parse(line)).toThrow(UsageError);
  expect(() => parse(line)).toThrow(problem);
  expect(() => parse(line)).not.toThrow('\n');
});

it('says its version', () => {
  expect(parseCommandLine(['--version'], COMMANDS)).toEqual({ kind: 'version' });
});

it('shows the help of one command, of a group, or of all, whatever else stands there', () => {
  const helpOf = (line: string) => {
    const parsed = parse(line);
    return parsed.kind === 'help' ? parsed.commands.map(({ words }) => words) : undefined;
  };
  expect(helpOf('keys revoke --help')).toEqual(['keys revoke']);
  expect(helpOf('credit -h')).toEqual(['credit add', 'credit take', 'credit list']);
  expect(helpOf('--help')).toHaveLength(COMMANDS.length);
  expect(helpOf('help')).toHaveLength(COMMANDS.length);
  expect(helpOf('help keys revoke')).toEqual(['keys revoke']);
  expect(helpOf('nonsense --help')).toHaveLength(COMMANDS.length);
});
