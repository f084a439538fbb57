import { expect, it } from '@jest/globals';
import { parseStartArguments } from './parseStartArguments.ts';

it('starts simulated engines on the embedded event log unless told otherwise', () => {
  expect(parseStartArguments([])).toEqual({ kafka: false, s3: false, engines: [], help: false });
  expect(parseStartArguments(['--kafka', '--s3'])).toEqual({ kafka: true, s3: true, engines: [], help: false });
});

it('takes every engine that is named, with or without the /v1 that clients write', () => {
  const args = ['--engine', 'http://10.0.0.1:8000', '--engine=https://gpu.example/v1/'];

  expect(parseStartArguments(args).engines).toEqual(['http://10.0.0.1:8000', 'https://gpu.example']);
});

it.each([['--kakfa'], ['--kafka=yes'], ['--regions=us,eu'], ['us'], ['-x'], ['--engine']])(
  'refuses %s and lists what there is',
  (argument) => {
    expect(() => parseStartArguments([argument])).toThrow(/^.*The options are --kafka, --s3, --engine and --help\.$/);
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
