import { expect, it } from '@jest/globals';
import { parseStartArguments } from './parseStartArguments.ts';

it('starts simulated engines on the embedded event log unless told otherwise', () => {
  expect(parseStartArguments([])).toEqual({ regions: ['us'], kafka: false, s3: false, engines: [], help: false });
  expect(parseStartArguments(['--kafka', '--s3'])).toMatchObject({ kafka: true, s3: true });
});

it('takes every engine that is named, with or without the /v1 that clients write', () => {
  const args = ['--engine', 'http://10.0.0.1:8000', '--engine=https://gpu.example/v1/'];

  const nothing = { can: { tools: false, images: false }, contextLength: undefined };
  expect(parseStartArguments(args).engines).toEqual([
    { url: 'http://10.0.0.1:8000', ...nothing },
    { url: 'https://gpu.example', ...nothing },
  ]);
});

it('takes what an engine can do from behind its address', () => {
  const [engine] = parseStartArguments(['--engine', 'http://10.0.0.1:8000/v1,images,tools,window=32768']).engines;
  expect(engine).toEqual({ url: 'http://10.0.0.1:8000', can: { tools: true, images: true }, contextLength: 32_768 });
});

it.each(['vision', '', 'window=', 'window=0', 'window=8k', 'Tools'])('refuses "%s" behind an address', (word) => {
  const parse = () => parseStartArguments(['--engine', `http://10.0.0.1:8000,${word}`]);
  expect(parse).toThrow(
    `--engine http://10.0.0.1:8000 is followed by "${word}". Behind the address may stand tools, images and window=TOKENS`,
  );
});

it.each([['--kakfa'], ['--kafka=yes'], ['--region=us'], ['us'], ['-x'], ['--engine']])(
  'refuses %s and lists what there is',
  (argument) => {
    expect(() => parseStartArguments([argument])).toThrow(
      /^.*The options are --regions, --kafka, --s3, --engine, --restart and --help\.$/,
    );
  },
);

it.each([
  ['ftp://10.0.0.1:21', '"ftp://10.0.0.1:21" is no http(s) address.'],
  ['10.0.0.1:8000', '"10.0.0.1:8000" is no http(s) address.'],
  ['tiny', '"tiny" is no http(s) address.'],
  ['', '"" is no http(s) address.'],
  ['http://me:hunter2@host:8000', 'http://host:8000 comes with a user or a password'],
  ['http://host:8000/api', 'http://host:8000/api names more than a host and a port.'],
  ['http://host:8000/?model=x', 'http://host:8000/?model=x names more than a host and a port.'],
])('refuses --engine %s in one line that says why', (text, reason) => {
  const parse = () => parseStartArguments(['--engine', text]);

  expect(parse).toThrow(`--engine ${reason}`);
  expect(parse).toThrow(/^.*Give --engine http:\/\/host:port\.$/);
  expect(parse).not.toThrow('hunter2');
});

it('restarts one part, and takes no other option beside it', () => {
  expect(parseStartArguments(['--restart', 'auth'])).toMatchObject({ restart: 'auth' });
  expect(() => parseStartArguments(['--restart', 'auth', '--kafka'])).toThrow(
    '--restart names one part and goes alone',
  );
});

it.each([
  ['us,eu', ['us', 'eu']],
  ['eu,us', ['us', 'eu']],
  ['eu', ['eu']],
])('takes the regions %s, us first', (list, regions) => {
  expect(parseStartArguments(['--regions', list]).regions).toEqual(regions);
});

it.each([
  ['mars', '"mars" is no region.'],
  ['us,mars', '"mars" is no region.'],
  ['', '"" is no region.'],
  ['us,', '"" is no region.'],
  ['eu,eu', '"eu,eu" has one twice.'],
])('refuses --regions %s in one line that says why', (list, reason) => {
  expect(() => parseStartArguments([`--regions=${list}`])).toThrow(
    `--regions takes us and eu, each once, as in --regions us,eu; ${reason}`,
  );
});

it('refuses engines of two regions', () => {
  const args = ['--regions', 'us,eu', '--engine', 'http://10.0.0.1:8000'];
  expect(() => parseStartArguments(args)).toThrow('--engine needs a single region');
});
