import { expect, it } from '@jest/globals';
import { parseListening } from './parseListening.ts';

const HEAD = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const line = (local: string, state: string): string =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000`;

it.each([
  ['a port of every address', [line('00000000:1F90', '0A')], [8080]],
  ['one of IPv6', [line('00000000000000000000000000000000:2382', '0A')], [9090]],
  ['the same of both once', [line('00000000:1F90', '0A'), line('00000000000000000000000000000000:1F90', '0A')], [8080]],
  [
    'none of the loopback address',
    [line('0100007F:1F90', '0A'), line('00000000000000000000000001000000:1F90', '0A')],
    [],
  ],
  ['none of an open connection', [line('00000000:1F90', '01')], []],
])('finds %s', (_what, lines, ports) => {
  expect(parseListening([HEAD, ...lines, ''].join('\n'))).toEqual(ports);
});
